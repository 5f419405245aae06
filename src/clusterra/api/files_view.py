"""Files as the API shows them."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.requests import Request

from clusterra.api.door import plane_of
from clusterra.control.files.files import Holding
from clusterra.core.files.place import Location, Place
from clusterra.core.files.upload import Upload
from clusterra.ports import Listing, Part, Presigned, Stored
from clusterra.wire.files import (
    FilePage,
    FileUsage,
    FileView,
    FolderView,
    Held,
    LinkView,
    PartLink,
    PartView,
    UploadView,
    VersionPage,
    VersionView,
)


def link_view(
    request: Request, place: Place, link: Presigned, stored: Stored | None = None
) -> LinkView:
    return LinkView(
        key=place.key,
        method=link.method,
        url=whole(request, link.url),
        headers=dict(link.headers),
        expires_at=link.expires_at,
        size=stored.size if stored else None,
        sha256=stored.sha256 if stored else "",
        modified_at=stored.modified_at if stored else None,
    )


def begun_view(place: Place, id: str, upload: Upload) -> LinkView:
    return LinkView(
        key=place.key,
        method="",
        url="",
        headers={},
        expires_at=upload.expires_at,
        upload_id=id,
        part_size=upload.part_size,
        parts=upload.count,
    )


def part_link(request: Request, number: int, link: Presigned) -> PartLink:
    return PartLink(
        number=number,
        method=link.method,
        url=whole(request, link.url),
        headers=dict(link.headers),
        expires_at=link.expires_at,
    )


def whole(request: Request, url: str) -> str:
    """Return an address as whoever asks reaches it: by the name under which they asked."""
    if urlsplit(url).netloc:
        return url
    base = plane_of(request).settings.server.url or str(request.base_url)
    return f"{base.rstrip('/')}{url}"


def locations_page() -> FilePage:
    folders = [FolderView(name=each.value, path=each.value) for each in Location]
    return FilePage(location="", path="", folders=folders, files=[])


def page_view(place: Place, listing: Listing, after: str) -> FilePage:
    return FilePage(
        location=place.location.value,
        path=place.path,
        folders=[_folder(place, each) for each in listing.folders],
        files=[file_view(place, each) for each in listing.files],
        next=after or None,
    )


def _folder(place: Place, prefix: str) -> FolderView:
    name = prefix.removesuffix("/").rpartition("/")[2]
    return FolderView(name=name, path=_below(place, name))


def file_view(place: Place, stored: Stored) -> FileView:
    name = stored.key.rpartition("/")[2]
    return FileView(
        name=name,
        path=_below(place, name),
        size=stored.size,
        modified_at=stored.modified_at,
        sha256=stored.sha256,
        content_type=stored.content_type,
    )


def _below(place: Place, name: str) -> str:
    return f"{place.path}/{name}" if place.path else name


def versions_view(place: Place, versions: Sequence[Stored]) -> VersionPage:
    return VersionPage(
        location=place.location.value,
        path=place.path,
        versions=[
            VersionView(
                version=each.version,
                size=each.size,
                modified_at=each.modified_at,
                sha256=each.sha256,
            )
            for each in versions
        ],
    )


def upload_view(id: str, upload: Upload, there: Sequence[Part] | None = None) -> UploadView:
    return UploadView(
        upload_id=id,
        location=upload.location.value,
        path=upload.path,
        size=upload.size,
        sha256=upload.sha256,
        part_size=upload.part_size,
        parts=upload.count,
        begun_at=upload.at,
        expires_at=upload.expires_at,
        there=None if there is None else [_part(each) for each in there],
    )


def _part(part: Part) -> PartView:
    return PartView(number=part.number, size=part.size, sha256=part.sha256)


def usage_view(held: Sequence[Holding]) -> FileUsage:
    return FileUsage(
        files=sum(each.used.files for each in held),
        bytes=sum(each.used.bytes for each in held),
        held=[
            Held(
                owner=each.owner,
                location=each.location.value,
                files=each.used.files,
                bytes=each.used.bytes,
            )
            for each in held
        ],
    )
