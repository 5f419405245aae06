"""The part of the API about files.

It is reached as `client.files` and asks through that client, which keeps the answer. The files
themselves do not go this way: `transfer.py` uses the links that come from here.
"""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote, urlencode

from clusterra.client.people import Ask
from clusterra.wire.files import (
    ArtifactPage,
    AskForLink,
    AskForParts,
    CopyFile,
    EditRetention,
    FileChanged,
    FilePage,
    FilePlace,
    FileUsage,
    FileView,
    LinkView,
    PartLinks,
    PartWanted,
    RetentionView,
    UploadPage,
    UploadView,
    VersionPage,
)


class Files:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def link(self, cluster: str, wanted: AskForLink) -> LinkView:
        return self._ask(LinkView, "POST", _at(cluster, "presigned-url"), wanted)

    def page(self, cluster: str, place: FilePlace, *, cursor: str = "") -> FilePage:
        asked = {"location": place.location, "path": place.path, "limit": 1000}
        asked |= {"cursor": cursor} if cursor else {}
        return self._ask(FilePage, "GET", f"{_at(cluster, 'files')}?{urlencode(asked)}")

    def pages(self, cluster: str, place: FilePlace) -> Iterator[FilePage]:
        """Yield all pages of a folder."""
        cursor: str | None = ""
        while cursor is not None:
            page = self.page(cluster, place, cursor=cursor)
            yield page
            cursor = page.next

    def below(self, cluster: str, place: FilePlace) -> Iterator[FileView]:
        """Yield every file below a folder, however deep."""
        for page in self.pages(cluster, place):
            yield from page.files
            for folder in page.folders:
                yield from self.below(cluster, FilePlace(location=place.location, path=folder.path))

    def delete(self, cluster: str, place: FilePlace) -> FileChanged:
        asked = urlencode({"location": place.location, "path": place.path})
        return self._ask(FileChanged, "DELETE", f"{_at(cluster, 'files')}?{asked}")

    def copy(self, cluster: str, source: FilePlace, target: FilePlace) -> FileChanged:
        both = CopyFile(source=source, target=target)
        return self._ask(FileChanged, "POST", _at(cluster, "copy"), both)

    def move(self, cluster: str, source: FilePlace, target: FilePlace) -> FileChanged:
        both = CopyFile(source=source, target=target)
        return self._ask(FileChanged, "POST", _at(cluster, "move"), both)

    def versions(self, cluster: str, place: FilePlace) -> VersionPage:
        asked = urlencode({"location": place.location, "path": place.path})
        return self._ask(VersionPage, "GET", f"{_at(cluster, 'versions')}?{asked}")

    def artifacts(self, cluster: str, job: str) -> ArtifactPage:
        """Return what a job declared and left behind."""
        path = f"/v1/clusters/{quote(cluster, safe='')}/jobs/{quote(job, safe='')}/artifacts"
        return self._ask(ArtifactPage, "GET", path)

    def usage(self, cluster: str) -> FileUsage:
        return self._ask(FileUsage, "GET", _at(cluster, "usage"))

    def retention(self, cluster: str) -> RetentionView:
        return self._ask(RetentionView, "GET", _at(cluster, "retention"))

    def keep(self, cluster: str, days: Mapping[str, int]) -> RetentionView:
        """Set how many days files stay, by location; 0 is for ever."""
        wanted = EditRetention(days=dict(days))
        return self._ask(RetentionView, "PATCH", _at(cluster, "retention"), wanted)

    def uploads(self, cluster: str) -> UploadPage:
        return self._ask(UploadPage, "GET", _at(cluster, "uploads"))

    def upload(self, cluster: str, id: str) -> UploadView:
        return self._ask(UploadView, "GET", _at(cluster, "uploads", id))

    def part_links(self, cluster: str, id: str, parts: Sequence[PartWanted]) -> PartLinks:
        wanted = AskForParts(parts=list(parts))
        return self._ask(PartLinks, "POST", _at(cluster, "uploads", id, "parts"), wanted)

    def complete(self, cluster: str, id: str) -> FileChanged:
        return self._ask(FileChanged, "POST", _at(cluster, "uploads", id, "complete"))


def _at(cluster: str, *more: str) -> str:
    head = f"/v1/clusters/{quote(cluster, safe='')}/storage"
    return "/".join((head, *(quote(each, safe="") for each in more)))
