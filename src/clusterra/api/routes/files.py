"""Files of a cluster over HTTP: links to put and get them, lists, copies, what is used.

Whatever is named is the caller's own, or shared: there is no way to write somebody else's.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clusterra.api import body, cursor, files_view
from clusterra.api.admit import Guarded, caller_of, guest_of
from clusterra.api.door import plane_of
from clusterra.api.openapi import takes
from clusterra.control.files.files import owners_in, storage_of
from clusterra.core.access import Caller, Deed, check_scope
from clusterra.core.errors import Invalid
from clusterra.core.files.place import Location, Place, place_of
from clusterra.core.files.upload import check_content_type, check_sha256, check_size
from clusterra.core.quote import shown
from clusterra.ports import Cargo
from clusterra.wire.files import (
    AskForLink,
    AskForParts,
    CopyFile,
    EditRetention,
    FileChanged,
    FilePage,
    FileUsage,
    LinkView,
    PartLinks,
    RetentionView,
    UploadPage,
    UploadView,
    VersionPage,
)

router = APIRouter(prefix="/v1/clusters/{cluster}/storage", tags=["files"], route_class=Guarded)

LocationName = Annotated[str, Query(description="`scripts`, `data`, `outputs` or `shared`.")]
MOST_PARTS = 1_000
"""Links in one answer."""


@router.post("/presigned-url", response_model=LinkView, openapi_extra=takes(AskForLink))
async def presign(request: Request, cluster: str) -> Response:
    """Return a link to put or get one file, good for some minutes; a large file is begun in parts."""
    plane, caller = plane_of(request), caller_of(request)
    asked = body.decode(await body.read(request), AskForLink)
    site = plane.site(cluster)
    match asked.operation:
        case "download" | "get":
            place = place_of(caller, asked.location, asked.path, existing=True)
            link, stored = await plane.files.link_to_get(site, place, asked.version)
            return body.json(files_view.link_view(request, place, link, stored))
        case "upload" | "put":
            check_scope(caller.scopes, Deed.CHANGE_FILES)
            place = place_of(caller, asked.location, asked.path)
            cargo = _cargo(asked, place)
            made, id, upload = await plane.files.link_to_put(site, caller, place, cargo)
            if upload is not None:
                return body.json(files_view.begun_view(place, id, upload))
            assert made is not None
            return body.json(files_view.link_view(request, place, made))
    raise Invalid(
        f"{shown(asked.operation)} is nothing that a link is for.",
        hint="Say upload or download.",
        at="operation",
    )


@router.get("/files", response_model=FilePage)
async def list_files(
    request: Request,
    cluster: str,
    location: LocationName = "",
    path: Annotated[str, Query(description="A folder; all of the location if left out.")] = "",
    after: Annotated[str, Query(alias="cursor", description="`next` of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    """List what lies directly in a folder, by name; without a location, the locations."""
    plane, caller = plane_of(request), caller_of(request)
    site = plane.site(cluster)
    storage_of(site)
    if not location:
        return body.json(files_view.locations_page())
    place = place_of(caller, location, path, folder=True, existing=True)
    begin = cursor.unpack(after, tuple[str, str]) if after else ("", "")
    if after and begin[0] != str(place):
        raise cursor.wrong("This cursor belongs to another folder.")
    listing = await plane.files.list(site, place, begin[1], limit)
    following = cursor.pack((str(place), listing.next)) if listing.next else ""
    return body.json(files_view.page_view(place, listing, following))


@router.delete("/files", response_model=FileChanged)
async def delete_file(
    request: Request, cluster: str, location: LocationName = "", path: str = ""
) -> Response:
    """Delete one file."""
    plane, caller = plane_of(request), caller_of(request)
    place = place_of(caller, location, path, existing=True)
    await plane.files.delete(plane.site(cluster), caller, place)
    return _changed("deleted", place)


@router.post("/copy", response_model=FileChanged, openapi_extra=takes(CopyFile))
async def copy_file(request: Request, cluster: str) -> Response:
    """Copy a file, or an earlier version of one, within one's own locations and from and to `shared`."""
    plane, caller = plane_of(request), caller_of(request)
    asked = body.decode(await body.read(request), CopyFile)
    source, target = _two(caller, asked)
    await plane.files.copy(
        plane.site(cluster), caller, source, target, version=asked.source.version
    )
    return _changed("copied", target)


@router.post("/move", response_model=FileChanged, openapi_extra=takes(CopyFile))
async def move_file(request: Request, cluster: str) -> Response:
    """Move a file; what is at the target is replaced."""
    plane, caller = plane_of(request), caller_of(request)
    source, target = _two(caller, body.decode(await body.read(request), CopyFile))
    await plane.files.move(plane.site(cluster), caller, source, target)
    return _changed("moved", target)


@router.get("/versions", response_model=VersionPage)
async def list_versions(
    request: Request, cluster: str, location: LocationName = "scripts", path: str = ""
) -> Response:
    """List what was put under a name, newest first. Scripts have versions."""
    plane = plane_of(request)
    place = place_of(caller_of(request), location, path, existing=True)
    versions = await plane.files.versions(plane.site(cluster), place)
    return body.json(files_view.versions_view(place, versions))


@router.get("/uploads", response_model=UploadPage)
async def list_uploads(request: Request, cluster: str) -> Response:
    """List the uploads that one has begun and not completed."""
    plane, caller = plane_of(request), caller_of(request)
    found = await plane.files.uploads.open_of(plane.site(cluster), caller)
    views = [files_view.upload_view(id, upload) for id, upload in found]
    return body.json(UploadPage(uploads=views, total=len(views)))


@router.get("/uploads/{upload}", response_model=UploadView)
async def show_upload(request: Request, cluster: str, upload: str) -> Response:
    """Return an upload with the parts that have come, to go on with the others."""
    plane, caller = plane_of(request), caller_of(request)
    site = plane.site(cluster)
    found = await plane.files.uploads.find(site, caller, upload)
    there = await plane.files.uploads.parts(site, found)
    return body.json(files_view.upload_view(upload, found, there))


@router.post("/uploads/{upload}/parts", response_model=PartLinks, openapi_extra=takes(AskForParts))
async def presign_parts(request: Request, cluster: str, upload: str) -> Response:
    """Return links to put some parts of an upload, each by its number and checksum."""
    plane, caller = plane_of(request), caller_of(request)
    asked = body.decode(await body.read(request), AskForParts)
    if not 1 <= len(asked.parts) <= MOST_PARTS:
        raise Invalid(
            f"{len(asked.parts)} parts were asked for; 1 to {MOST_PARTS:,} can be.",
            hint="Ask for some at a time.",
            at="parts",
        )
    wanted = [(each.number, each.sha256) for each in asked.parts]
    links = await plane.files.uploads.links(plane.site(cluster), caller, upload, wanted)
    parts = [files_view.part_link(request, number, link) for number, link in links]
    return body.json(PartLinks(upload_id=upload, parts=parts))


@router.post("/uploads/{upload}/complete", response_model=FileChanged)
async def complete_upload(request: Request, cluster: str, upload: str) -> Response:
    """Make a file of the parts; it is seen from then on."""
    plane, caller = plane_of(request), caller_of(request)
    done = await plane.files.uploads.complete(plane.site(cluster), caller, upload)
    return _changed("uploaded", done.place)


@router.delete("/uploads/{upload}", response_model=FileChanged)
async def abort_upload(request: Request, cluster: str, upload: str) -> Response:
    """Forget an upload and the parts that have come."""
    plane, caller = plane_of(request), caller_of(request)
    site = plane.site(cluster)
    found = await plane.files.uploads.find(site, caller, upload)
    await plane.files.uploads.abort(site, caller, upload)
    return _changed("aborted", found.place)


@router.get("/usage", response_model=FileUsage)
async def show_usage(request: Request, cluster: str) -> Response:
    """Return how much there is, location by location: one's own; for admins, everybody's."""
    plane, caller = plane_of(request), caller_of(request)
    site = plane.site(cluster)
    owners = [caller.email]
    if caller.admin:
        owners = await owners_in(storage_of(site))
    return body.json(files_view.usage_view(await plane.files.usage(site, owners)))


@router.get("/retention", response_model=RetentionView)
async def show_retention(request: Request, cluster: str) -> Response:
    """Return how long files stay, location by location."""
    return await _retention(request, cluster)


@router.patch("/retention", response_model=RetentionView, openapi_extra=takes(EditRetention))
async def edit_retention(request: Request, cluster: str) -> Response:
    """Set how long files stay that nobody writes to, location by location."""
    plane = plane_of(request)
    wanted = body.decode(await body.read(request), EditRetention)
    by = guest_of(request).doer(caller_of(request).role)
    await plane.keeping.change(plane.site(cluster), wanted.days, by=by)
    return await _retention(request, cluster)


async def _retention(request: Request, cluster: str) -> Response:
    plane = plane_of(request)
    record = await plane.keeping.of(plane.site(cluster))
    days = {each.value: record.value.days.get(each.value) for each in Location}
    return body.json(RetentionView(days=days, set_by_admin=record.version > 0))


def _cargo(asked: AskForLink, place: Place) -> Cargo:
    check_size(asked.size)
    return Cargo(
        size=asked.size,
        sha256=check_sha256(asked.sha256) if asked.sha256 else "",
        content_type=check_content_type(asked.content_type),
        versioned=place.versioned,
    )


def _two(caller: Caller, asked: CopyFile) -> tuple[Place, Place]:
    source, target = asked.source, asked.target
    return (
        place_of(caller, source.location, source.path, existing=True, at="source.path"),
        place_of(caller, target.location, target.path, at="target.path"),
    )


def _changed(act: str, place: Place) -> Response:
    return body.json(FileChanged(act=act, location=place.location.value, path=place.path))
