"""People, workspaces, tokens and keys as the API shows them."""

from datetime import datetime

from clusterra.control.plane import Plane
from clusterra.core.access import Role
from clusterra.core.people.credentials import ClusterKey, Session, Token
from clusterra.core.people.person import Membership, Person
from clusterra.wire.people import (
    KeyView,
    PersonView,
    SessionView,
    TokenView,
    WorkspaceView,
)


def workspace_view(plane: Plane, id: str, role: Role) -> WorkspaceView:
    workspace = plane.people.directory.workspace(id)
    clusters = [site.cluster.id for site in plane.sites.values() if site.workspace == id]
    return WorkspaceView(
        id=id,
        name=workspace.name,
        role=role,
        others_jobs=workspace.others_jobs,
        clusters=clusters,
    )


def person_view(plane: Plane, person: Person, member: Membership) -> PersonView:
    seen = _last_seen(plane, person, member.workspace)
    return PersonView(
        id=person.id,
        email=person.email,
        name=person.name,
        login=person.login,
        uid=person.uid,
        role=member.role,
        since=member.since,
        by=member.by,
        signed_in=person.identity is not None or seen is not None,
        last_seen_at=seen,
    )


def _last_seen(plane: Plane, person: Person, workspace: str) -> datetime | None:
    """Return when they last came by something that lets them in here: the rest is not told here."""
    directory, here = plane.people.directory, ("", workspace)
    sessions, tokens = directory.sessions_of(person.id), directory.tokens_of(person.id)
    moments = [each.rotated_at for each in sessions if each.within in here]
    moments += [each.last_used_at for each in tokens if each.last_used_at and each.within in here]
    return max(moments, default=None)


def token_view(token: Token) -> TokenView:
    return TokenView(
        id=token.id,
        name=token.name,
        scopes=sorted(token.scopes),
        workspace=token.within or None,
        created_at=token.created_at,
        created_by=token.created_by,
        expires_at=token.expires_at,
        last_used_at=token.last_used_at,
    )


def session_view(session: Session, *, current: bool) -> SessionView:
    return SessionView(
        id=session.id,
        how=session.how,
        agent=session.agent,
        address=session.address,
        since=session.since,
        expires_at=session.expires_at,
        current=current,
    )


def key_view(key: ClusterKey) -> KeyView:
    return KeyView(
        id=key.id,
        cluster=key.cluster,
        name=key.name,
        use=key.use,
        created_at=key.created_at,
        created_by=key.created_by,
        last_used_at=key.last_used_at,
    )
