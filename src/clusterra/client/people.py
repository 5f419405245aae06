"""The part of the API about people: signing in, workspaces, tokens, keys, and who did what.

It is reached as `client.people` and asks through that client, which keeps the answer.
"""

from collections.abc import Mapping
from typing import Protocol, TypeVar
from urllib.parse import quote, urlencode

from clusterra.client.client import WhichEvents
from clusterra.wire.events import EventPage
from clusterra.wire.people import (
    AskForTerminal,
    ChangePerson,
    CreateKey,
    CreateToken,
    DeviceCode,
    EditWorkspace,
    Invite,
    Invited,
    KeyMade,
    KeyPage,
    KeyView,
    LinkMade,
    Me,
    PeoplePage,
    PersonView,
    Refresh,
    Removed,
    SessionPage,
    SessionView,
    SignedIn,
    SignedOut,
    TerminalAsked,
    TokenMade,
    TokenPage,
    TokenView,
    WorkspacePage,
    WorkspaceView,
)

T = TypeVar("T")


class Ask(Protocol):
    def __call__(
        self,
        into: type[T],
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> T: ...


class People:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    # --- signing in

    def ask_for_terminal(self, agent: str) -> TerminalAsked:
        """Ask to be let in; somebody has to approve it in a browser."""
        return self._ask(TerminalAsked, "POST", _at("auth", "device"), AskForTerminal(agent=agent))

    def terminal_token(self, device_code: str) -> SignedIn:
        """Return the session, once approved; until then the error's code says how it stands."""
        asked = DeviceCode(device_code=device_code)
        return self._ask(SignedIn, "POST", _at("auth", "device", "token"), asked)

    def refresh(self, refresh_token: str) -> SignedIn:
        asked = Refresh(refresh_token=refresh_token)
        return self._ask(SignedIn, "POST", _at("auth", "refresh"), asked)

    def sign_out(self) -> SignedOut:
        return self._ask(SignedOut, "POST", _at("auth", "logout"))

    # --- oneself

    def me(self) -> Me:
        return self._ask(Me, "GET", _at("users", "me"))

    def link(self) -> LinkMade:
        """Return a one-time sign-in link for oneself."""
        return self._ask(LinkMade, "POST", _at("users", "me", "link"))

    def tokens(self) -> TokenPage:
        return self._ask(TokenPage, "GET", _at("users", "me", "tokens"))

    def create_token(self, wanted: CreateToken) -> TokenMade:
        return self._ask(TokenMade, "POST", _at("users", "me", "tokens"), wanted)

    def revoke_token(self, id: str) -> TokenView:
        return self._ask(TokenView, "DELETE", _at("users", "me", "tokens", id))

    def sessions(self) -> SessionPage:
        return self._ask(SessionPage, "GET", _at("users", "me", "sessions"))

    def end_session(self, id: str) -> SessionView:
        return self._ask(SessionView, "DELETE", _at("users", "me", "sessions", id))

    # --- workspaces

    def workspaces(self) -> WorkspacePage:
        return self._ask(WorkspacePage, "GET", _at("workspaces"))

    def edit_workspace(self, workspace: str, edit: EditWorkspace) -> WorkspaceView:
        return self._ask(WorkspaceView, "PATCH", _at("workspaces", workspace), edit)

    def people(self, workspace: str) -> PeoplePage:
        return self._ask(PeoplePage, "GET", _at("workspaces", workspace, "people"))

    def invite(self, workspace: str, invite: Invite) -> Invited:
        return self._ask(Invited, "POST", _at("workspaces", workspace, "people"), invite)

    def change_role(self, workspace: str, person: str, role: str) -> PersonView:
        """Change what somebody is in a workspace; `person` is an id or an e-mail."""
        path = _at("workspaces", workspace, "people", person)
        return self._ask(PersonView, "PATCH", path, ChangePerson(role=role))

    def remove(self, workspace: str, person: str) -> Removed:
        return self._ask(Removed, "DELETE", _at("workspaces", workspace, "people", person))

    # --- keys of a cluster

    def keys(self, cluster: str) -> KeyPage:
        return self._ask(KeyPage, "GET", _at("clusters", cluster, "keys"))

    def leave(self, workspace: str) -> Removed:
        return self._ask(Removed, "DELETE", _at("users", "me", "workspaces", workspace))

    def create_key(self, cluster: str, name: str, use: str) -> KeyMade:
        wanted = CreateKey(name=name, use=use)
        return self._ask(KeyMade, "POST", _at("clusters", cluster, "keys"), wanted)

    def revoke_key(self, cluster: str, id: str) -> KeyView:
        return self._ask(KeyView, "DELETE", _at("clusters", cluster, "keys", id))

    # --- who did what

    def audit(self, workspace: str, wanted: WhichEvents, *, limit: int) -> EventPage:
        """Return what people did, newest first."""
        asked = [
            ("workspace", workspace),
            ("actor", wanted.actor),
            *(("type", glob) for glob in wanted.types),
            ("since", wanted.since),
            ("until", wanted.until),
            ("limit", str(limit)),
        ]
        given = urlencode([(name, value) for name, value in asked if value])
        return self._ask(EventPage, "GET", f"{_at('audit')}?{given}")


def _at(*parts: str) -> str:
    return "/".join(("/v1", *(quote(part, safe="") for part in parts)))
