"""The keys of a cluster's collector and agent over HTTP."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from clusterra.api import body
from clusterra.api.admit import Guarded, caller_of, guest_of
from clusterra.api.door import plane_of
from clusterra.api.openapi import takes
from clusterra.api.views import key_view
from clusterra.core.people.credentials import key_use
from clusterra.wire.people import CreateKey, KeyMade, KeyPage, KeyView

router = APIRouter(prefix="/v1/clusters/{cluster}/keys", tags=["clusters"], route_class=Guarded)

LONGEST_NAME = 120


@router.get("", response_model=KeyPage)
async def list_keys(request: Request, cluster: str) -> Response:
    """List a cluster's keys; what they are is shown once, when they are made."""
    keys = plane_of(request).people.directory.keys_of(cluster)
    return body.json(KeyPage(keys=[key_view(each) for each in keys], total=len(keys)))


@router.post("", status_code=201, response_model=KeyMade, openapi_extra=takes(CreateKey))
async def create_key(request: Request, cluster: str) -> Response:
    """Make a key. Two of a use live at once: bring the new one to every machine, then revoke the old."""
    plane = plane_of(request)
    wanted = body.decode(await body.read(request) or b"{}", CreateKey)
    secret, key = await plane.people.keys.make(
        cluster,
        plane.site(cluster).workspace,
        name=wanted.name.strip()[:LONGEST_NAME],
        use=key_use(wanted.use),
        by=guest_of(request).doer(caller_of(request).role),
    )
    return body.json(KeyMade(key=secret, info=key_view(key)), 201)


@router.delete("/{key}", response_model=KeyView)
async def revoke_key(request: Request, cluster: str, key: str) -> Response:
    """Make a key invalid, at once."""
    plane = plane_of(request)
    revoked = await plane.people.keys.revoke(
        cluster,
        plane.site(cluster).workspace,
        key,
        by=guest_of(request).doer(caller_of(request).role),
    )
    return body.json(key_view(revoked))
