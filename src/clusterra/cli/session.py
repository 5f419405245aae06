"""One run of the command: which server, which cluster, how to speak, what time it is.

The options that every command takes fill it in; a command takes from it what it
needs. Nothing is looked for or connected to before a command asks.
"""

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from clusterra.cli.amounts import utc_now
from clusterra.cli.screen import Screen, say, screen_of
from clusterra.client.client import Client
from clusterra.client.connection import Connection
from clusterra.client.find import Server, find_server
from clusterra.core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from clusterra.wire.clusters import ClusterView
    from clusterra.wire.people import WorkspaceView


class Watch:
    """The time, and waiting for it to pass."""

    def now(self) -> datetime:
        return utc_now()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(slots=True, kw_only=True)
class Session:
    url: str | None = None
    token_file: Path | None = None
    state: Path | None = None
    cluster: str | None = None
    workspace: str | None = None
    no_color: bool = False

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    watch: Watch = field(default_factory=Watch)
    fixed_screen: Screen | None = None
    """Used instead of looking at what stdout is."""

    _client: Client | None = None
    _server: Server | None = None

    @property
    def server(self) -> Server:
        if self._server is None:
            self._server = find_server(
                self.environ,
                url=self.url,
                token_file=self.token_file,
                state=self.state,
                now=self.watch.now,
            )
        return self._server

    @property
    def client(self) -> Client:
        if self._client is None:
            self._client = Client(Connection(self.server.url, token=self.server.token))
        return self._client

    @property
    def screen(self) -> Screen:
        return self.fixed_screen or screen_of(sys.stdout, self.environ, no_colour=self.no_color)

    def screen_for(self, *, aside: bool) -> Screen:
        """Return the screen, or with `aside` what stderr goes to."""
        if not aside or self.fixed_screen:
            return self.screen
        return screen_of(sys.stderr, self.environ, no_colour=self.no_color)

    def cluster_id(self) -> str:
        """Return the cluster meant: the one named, else the server's own, else its only one."""
        wanted = self.cluster or self.environ.get("CLUSTERRA_CLUSTER")
        if not wanted and self.server.cluster:
            return self.server.cluster
        return choose(self.client.clusters().clusters, wanted).id

    def the_workspace(self) -> "WorkspaceView":
        """Return the workspace meant: the one named, else one's only one."""
        wanted = self.named_workspace()
        return choose_workspace(self.client.people.workspaces().workspaces, wanted)

    def named_workspace(self) -> str | None:
        return self.workspace or self.environ.get("CLUSTERRA_WORKSPACE") or None

    def say_answer(self) -> None:
        """Print the latest answer of the API as it came, on one line."""
        say(self.client.answer.decode(errors="replace").rstrip("\n"))

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


def choose(clusters: "list[ClusterView]", wanted: str | None) -> "ClusterView":
    """Pick the cluster called `wanted`, by id or by name, or the only one there is."""
    found = _called(wanted, clusters)
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{each.id} ({each.name})" for each in clusters)
    if not clusters:
        raise NotFound("This server has no cluster.", hint="Start one with: clusterra up")
    if not wanted:
        raise Invalid(
            f"This server has {len(clusters)} clusters: {names}.",
            hint="Say which with --cluster, or once with: export CLUSTERRA_CLUSTER="
            f"{clusters[0].id}",
        )
    if found:
        raise Invalid(
            f"{len(found)} clusters are called {wanted!r}.",
            hint=f"Use an id: {', '.join(each.id for each in found)}.",
        )
    raise NotFound(
        f"There is no cluster {wanted!r} on this server.", hint=f"The clusters here are: {names}."
    )


def choose_workspace(workspaces: "list[WorkspaceView]", wanted: str | None) -> "WorkspaceView":
    """Pick the workspace called `wanted`, by id or by name, or the only one there is."""
    found = _called(wanted, workspaces)
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{each.id} ({each.name})" for each in workspaces)
    if not workspaces:
        raise NotFound(
            "You are in no workspace.", hint="Ask an owner or admin of one to invite you."
        )
    if not wanted:
        raise Invalid(
            f"You are in {len(workspaces)} workspaces: {names}.",
            hint="Say which with --workspace, or once with: export CLUSTERRA_WORKSPACE="
            f"{workspaces[0].id}",
        )
    if found:
        raise Invalid(
            f"{len(found)} workspaces are called {wanted!r}.",
            hint=f"Use an id: {', '.join(each.id for each in found)}.",
        )
    raise NotFound(f"You are in no workspace {wanted!r}.", hint=f"Your workspaces are: {names}.")


class _Named(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


def _called(wanted: str | None, things: list[N]) -> list[N]:
    """Return what has that id, else what has that name; all of them if none is named."""
    if not wanted:
        return things
    by_id = [each for each in things if wanted == each.id]
    return by_id or [each for each in things if wanted == each.name]
