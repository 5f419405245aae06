"""Recipes over HTTP: which there are, what they come to, and bringing in more."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, guest_of, in_workspace
from clusterra.api.door import plane_of
from clusterra.api.openapi import takes
from clusterra.api.template_view import report, row, whole
from clusterra.api.workspace_meant import workspace_meant, workspaces_meant
from clusterra.control.plane import Plane
from clusterra.control.templates.catalogue import Entry
from clusterra.core.access import Deed
from clusterra.core.errors import Invalid, NotFound
from clusterra.core.files.place import room_of
from clusterra.core.people.person import Person
from clusterra.core.templates.launch import LaunchWish
from clusterra.core.templates.read import SourceFile
from clusterra.core.templates.render import Context, render
from clusterra.core.templates.sbatch import OVERRIDE, read_override
from clusterra.wire.templates import (
    ImportReport,
    ImportTemplates,
    LaunchablePage,
    RenderedArtifact,
    RenderTemplate,
    TemplatePage,
    TemplateRemoved,
    TemplateRendered,
    TemplateView,
)

router = APIRouter(tags=["templates"], route_class=Guarded)

MOST_FILES = 5_000


@router.get("/v1/templates", response_model=TemplatePage)
async def list_templates(
    request: Request,
    q: Annotated[str, Query(description="Words that its name or description has.")] = "",
    kind: Annotated[str, Query(description="batch, interactive, preset or workflow.")] = "",
    category: str = "",
    workspace: str = "",
) -> Response:
    """List the recipes one can start jobs from."""
    rows = _rows(request, workspace, kind=kind, category=category, q=q)
    return _page(b"templates", rows)


@router.get("/v1/launchables", response_model=LaunchablePage)
async def list_launchables(
    request: Request, kind: str = "", pipeline_repo: str = "", workspace: str = ""
) -> Response:
    """List the same, as older clients ask for it."""
    rows = _rows(request, workspace, kind=kind, pipeline_repo=pipeline_repo)
    return _page(b"launchables", rows)


@router.post(
    "/v1/templates/import", response_model=ImportReport, openapi_extra=takes(ImportTemplates)
)
async def import_templates(request: Request) -> Response:
    """Take in templates (YAML), for everybody in a workspace.

    Files that are none are told of, each with its line and reason, and hinder no others.
    """
    plane, guest = plane_of(request), guest_of(request)
    wanted, files = await _files(request)
    workspace = wanted.workspace or workspace_meant(guest, plane)
    caller = in_workspace(guest, plane, Deed.KEEP_TEMPLATES, workspace=workspace)
    found = await plane.catalogue.import_files(workspace, files, guest.doer(caller.role))
    return body.json(report(found))


@router.post(
    "/v1/templates/validate", response_model=ImportReport, openapi_extra=takes(ImportTemplates)
)
async def validate_templates(request: Request) -> Response:
    """Say what an import would; nothing is kept."""
    _, files = await _files(request)
    return body.json(report(plane_of(request).catalogue.check(files)))


async def _files(request: Request) -> tuple[ImportTemplates, list[SourceFile]]:
    wanted = body.decode(await body.read(request), ImportTemplates)
    if len(wanted.files) > MOST_FILES:
        raise Invalid(
            f"{len(wanted.files):,} files at once are too many; the most is {MOST_FILES:,}.",
            hint="Send them in parts.",
            at="files",
        )
    return wanted, [SourceFile(name=each.name, text=each.text) for each in wanted.files]


@router.get("/v1/templates/{template}", response_model=TemplateView)
async def show_template(request: Request, template: str, workspace: str = "") -> Response:
    """Return one recipe, with what it asks for and all of its text."""
    return body.json(whole(_one(request, template, workspace)[1]))


@router.delete("/v1/templates/{template}", response_model=TemplateRemoved)
async def remove_template(request: Request, template: str, workspace: str = "") -> Response:
    """Take away a recipe that a workspace has imported."""
    plane, guest = plane_of(request), guest_of(request)
    workspace = workspace or workspace_meant(guest, plane)
    caller = in_workspace(guest, plane, Deed.KEEP_TEMPLATES, workspace=workspace)
    gone = await plane.catalogue.remove(workspace, template, guest.doer(caller.role))
    return body.json(TemplateRemoved(id=gone.id))


@router.post(
    "/v1/templates/{template}/render",
    response_model=TemplateRendered,
    openapi_extra=takes(RenderTemplate),
)
async def render_template(request: Request, template: str, workspace: str = "") -> Response:
    """Return the script that a recipe comes to with these values; nothing is submitted."""
    return await _rendered(request, template, workspace)


@router.post(
    "/v1/launchables/{template}/render",
    response_model=TemplateRendered,
    openapi_extra=takes(RenderTemplate),
)
async def render_launchable(request: Request, template: str, workspace: str = "") -> Response:
    """Return the same, as older clients ask for it: inputs and parameters in one flat object."""
    return await _rendered(request, template, workspace)


async def _rendered(request: Request, id: str, workspace: str) -> Response:
    plane, guest = plane_of(request), guest_of(request)
    raw = await body.read(request)
    table = body.decode_object(raw) if raw.strip() else {}
    flat = not {"params", "inputs", OVERRIDE, "cluster"} & table.keys()
    wanted = RenderTemplate(params=table) if flat else body.decode(raw, RenderTemplate)
    where, entry = _one(request, id, workspace)
    wish = LaunchWish(
        template_id=id,
        params=wanted.params,
        inputs=wanted.inputs,
        override=read_override(wanted.sbatch_override),
    )
    job = plane.starter.jobs(wish, where)[0] if entry.template.ready else None
    cluster = wanted.cluster or _some_cluster(plane, where)
    context = Context(
        user_email=guest.person.email,
        cluster_id=cluster,
        run_id=plane.starter.new_run_id(),
        files=_room(plane, cluster, guest.person),
    )
    found = render(
        job.template if job else entry.template,
        context,
        params=job.params if job else wanted.params,
        inputs=wanted.inputs,
        override=wish.override,
    )
    return body.json(
        TemplateRendered(
            template_id=id,
            script=found.script,
            job_name=found.name,
            outputs_dir=found.outputs_dir,
            artifacts=[
                RenderedArtifact(key=each.key, path=each.path, role=each.role)
                for each in found.artifacts
            ],
            warnings=list(found.remarks),
        )
    )


def _some_cluster(plane: Plane, workspace: str) -> str:
    mine = (id for id, site in plane.sites.items() if site.workspace == workspace)
    return next(mine, "")


def _room(plane: Plane, cluster: str, person: Person) -> str:
    """Return where somebody's jobs on a cluster would find their files."""
    site = plane.sites.get(cluster)
    room = site.files.room(room_of(person.email)) if site and site.files else ""
    return room or f"/home/{person.login}"


def _one(request: Request, id: str, workspace: str) -> tuple[str, Entry]:
    """Return the recipe, and the workspace that it was found in."""
    plane, guest = plane_of(request), guest_of(request)
    missing: NotFound | None = None
    for each, _ in workspaces_meant(guest, plane, Deed.SEE_TEMPLATES, workspace):
        try:
            return each, plane.catalogue.find(each, id)
        except NotFound as error:
            missing = error
    if missing is not None:
        raise missing
    return "", plane.catalogue.find("", id)


def _rows(
    request: Request, workspace: str, *, kind: str = "", q: str = "", **same: str
) -> Iterator[bytes]:
    plane, guest = plane_of(request), guest_of(request)
    found: dict[str, Entry] = {}
    for each, _ in workspaces_meant(guest, plane, Deed.SEE_TEMPLATES, workspace):
        for id, entry in plane.catalogue.of(each).items():
            found.setdefault(id, entry)
    words = q.lower().split()
    for _, entry in sorted(found.items()):
        document = entry.template.document
        if kind and entry.template.kind.value != kind:
            continue
        if any(value and document.get(name) != value for name, value in same.items()):
            continue
        if words and not all(word in _searched(entry) for word in words):
            continue
        yield _encoded(entry)


def _searched(entry: Entry) -> str:
    document = entry.template.document
    told = (document[name] for name in ("id", "name", "description", "category"))
    return " ".join((*told, *document["tools"])).lower()


_ENCODED: dict[int, tuple[Entry, bytes]] = {}
"""By identity: a recipe is told the same way as long as it is the same one."""

_MOST_ENCODED = 10_000


def _encoded(entry: Entry) -> bytes:
    kept = _ENCODED.get(id(entry))
    if kept is not None and kept[0] is entry:
        return kept[1]
    if len(_ENCODED) >= _MOST_ENCODED:
        _ENCODED.clear()
    told = msgspec.json.encode(row(entry))
    _ENCODED[id(entry)] = (entry, told)
    return told


def _page(name: bytes, rows: Iterator[bytes]) -> Response:
    each = list(rows)
    page = b'{"%b":[%b],"total":%d}' % (name, b",".join(each), len(each))
    return Response(page, media_type="application/json")
