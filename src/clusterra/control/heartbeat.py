"""Hear a cluster's agent, and tell it what is wanted.

What it says is there for the scaling loop at once; what it is told is all that is wanted,
every time. Where that is not known it is told nothing at all: an agent that is told of no
workers stops them, and one that is told of no protected nodes lets them be taken.

One agent looks after a cluster. Another one with the same key is refused while the first
is heard: they would undo each other's work.
"""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog

from clusterra.control.edge import Wanted
from clusterra.control.site import Site
from clusterra.core.errors import Conflict, NotFound, Unreachable
from clusterra.core.events.catalogue import nodes as facts
from clusterra.core.events.event import Draft
from clusterra.core.ids import uuid8
from clusterra.core.scaling.edge import EdgeReport, Failed, Offering
from clusterra.core.seen import Seen, Unseen
from clusterra.ports import Clock

log = structlog.get_logger()

ALONE_FOR = timedelta(seconds=45)
"""How long an agent that was heard keeps others away: three of the public agent's periods."""

SILENT_AFTER = timedelta(seconds=90)
"""After so long, an agent is taken for gone, and what it said for old."""

KNOWN_FOR = timedelta(seconds=60)
"""How old what is wanted may be: three rounds of the scaling loop."""

REMEMBERED_FOR = timedelta(minutes=10)
"""How long nodes and failures that were told of are remembered."""

LONGEST_WAIT = 25.0
"""Seconds: what stands between us and an agent often ends a silent request after 30."""


@dataclass(slots=True, kw_only=True)
class Heartbeats:
    site: Site
    clock: Clock
    _since: datetime = field(init=False)
    _last: EdgeReport | None = None
    _nodes: dict[str, datetime] = field(default_factory=dict)
    """Nodes and machines that were told of, and when last."""
    _failed: dict[Failed, datetime] = field(default_factory=dict)
    """Failures that were told of, and when last."""
    _refused: set[str] = field(default_factory=set)
    """Agents whose refusal is in the log."""
    _ahead: bool = False
    """That the agent knows a newer fleet than ours is in the log."""
    _price_table: bytes = b""
    """What the last one hashed to."""

    def __post_init__(self) -> None:
        self._since = self.clock.now()

    def hear(self, report: EdgeReport, *, key: str = "") -> None:
        """Take in what an agent says of its side, and the key that it showed.

        Raises Conflict if another agent is looking after this cluster.
        """
        self._check_alone(report)
        before, self._last = self._last, self._without_old_failures(report)
        self._remember(report)
        edge = self.site.edge
        was_silent = not isinstance(edge.report, Seen)
        edge.report, edge.key = Seen(self._last, report.at), key
        edge.failed.extend(self._last.failed)
        if before is None or was_silent or _is_new(self._last, before):
            edge.heard()

    async def wanted(
        self, *, applied: int, protected: frozenset[str] | None, wait: float
    ) -> Wanted:
        """Return what the agent is to be told; with `wait`, when it is something else, or after so long.

        Raises Unreachable where that is not known.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + min(wait, LONGEST_WAIT)
        while (left := until - clock()) > 0 and not self.site.edge.closed:
            if self._is_news(applied, protected):
                break
            await self.site.edge.changed(left)
        wanted = self._known()
        self._notice_ahead(applied, wanted.fleet.version)
        return wanted

    async def watch(self) -> bool:
        """Tell of an agent that is not heard any more, and of its return."""
        last, now, linked = self._last, self.clock.now(), self.site.linked
        if last is not None and now - last.at < SILENT_AFTER:
            await linked.agent_seen(last.agent)
            return True
        since = last.at if last else self._since
        if now - since >= SILENT_AFTER and (agent := await linked.agent()):
            silent = f"{(now - since).total_seconds():.0f} s"
            why = f"The agent {agent} was last heard {silent} ago."
            if last is None:
                why = (
                    f"The agent {agent} has not been heard in the {silent} since this server"
                    " was started."
                )
            self.site.edge.report = Unseen(why)
            await linked.agent_unseen(since, why)
        return False

    def knows_prices(self, digest: bytes) -> bool:
        """Say whether this price table is the last one, which then still holds."""
        known = self.site.edge.offerings
        if digest != self._price_table or not isinstance(known, Seen):
            return False
        self.site.edge.offerings = Seen(known.value, self.clock.now())
        return True

    def price(self, digest: bytes, offerings: tuple[Offering, ...]) -> None:
        self._price_table = digest
        self.site.edge.offerings = Seen(offerings, self.clock.now())

    def misclassified(self, node: str, *, instance_type: str, expected: str, actual: str) -> Draft:
        """Return the event of a machine that is not what its class says; one an hour for each.

        Raises NotFound if no agent has told of that machine lately.
        """
        now = self.clock.now()
        told_at = self._nodes.get(node)
        if told_at is None or now - told_at > REMEMBERED_FOR:
            raise NotFound(
                f"The agent of {self.site.cluster.id} has told of no node {node[:64]!r} within the"
                f" last {REMEMBERED_FOR // timedelta(minutes=1)} minutes.",
                hint="Send the name that the node has in Kubernetes, once the agent has seen it.",
                code="node-not-found",
            )
        fact = facts.NodeMisclassified(
            node=node, instance_type=instance_type, expected=expected, actual=actual
        )
        cluster = self.site.cluster.id
        return Draft(
            id=uuid8(cluster, "node", node, fact.type, f"{now:%Y-%m-%dT%H}"),
            fact=fact,
            at=now,
            actor=f"system:{cluster}",
            subject=f"node/{node}",
            correlation=f"node/{node}",
        )

    def _check_alone(self, report: EdgeReport) -> None:
        last = self._last
        if last is None or last.agent == report.agent or report.at - last.at >= ALONE_FOR:
            self._refused.discard(report.agent)
            return
        ago = (report.at - last.at).total_seconds()
        if report.agent not in self._refused:
            self._refused.add(report.agent)
            log.warning(
                "agent.refused",
                cluster=self.site.cluster.id,
                agent=report.agent,
                because_of=last.agent,
            )
        raise Conflict(
            f"The agent {last.agent} looks after {self.site.cluster.id} and was heard {ago:.0f} s"
            f" ago; this is the agent {report.agent}, with the same key.",
            hint=f"Stop one of the two. Once {last.agent} has been silent for"
            f" {ALONE_FOR.seconds} s, {report.agent} is heard.",
            code="another-agent",
        )

    def _without_old_failures(self, report: EdgeReport) -> EdgeReport:
        """Leave out what was told before: an agent that was not answered tells it again."""
        old = report.at - REMEMBERED_FOR
        self._failed = {each: at for each, at in self._failed.items() if at >= old}
        new = tuple(each for each in report.failed if each not in self._failed)
        self._failed |= dict.fromkeys(report.failed, report.at)
        return replace(report, failed=new)

    def _remember(self, report: EdgeReport) -> None:
        names = set(report.nodes or ())
        for machine in report.machines or ():
            names |= {machine.name, machine.node} - {""}
        names |= {worker.name for worker in report.workers or ()}
        old = report.at - REMEMBERED_FOR
        kept = {name: at for name, at in self._nodes.items() if at >= old}
        self._nodes = kept | dict.fromkeys(names, report.at)

    def _known(self) -> Wanted:
        site, sight = self.site, self.site.edge.wanted
        if not site.shapes:
            raise _not_known(site, "Its workers are not ours to start and stop: it has no shapes.")
        if not isinstance(sight, Seen):
            raise _not_known(site, sight.why)
        age = sight.age(self.clock.now())
        if age > KNOWN_FOR:
            old = f"It was last decided {age.total_seconds():.0f} s ago"
            raise _not_known(site, f"{old}, and holds for {KNOWN_FOR.seconds} s.")
        if unknown := [name for name in sight.value.fleet.desired if name not in site.shapes]:
            raise _not_known(site, f"There is no shape {unknown[0]} any more.")
        return sight.value

    def _is_news(self, applied: int, protected: frozenset[str] | None) -> bool:
        try:
            wanted = self._known()
        except Unreachable:
            return False
        if wanted.fleet.version != applied:
            return True
        return protected is not None and wanted.protected != protected

    def _notice_ahead(self, applied: int, version: int) -> None:
        if applied > version and not self._ahead:
            log.warning(
                "agent.ahead", cluster=self.site.cluster.id, applied=applied, version=version
            )
        self._ahead = applied > version


def _is_new(report: EdgeReport, before: EdgeReport) -> bool:
    same = replace(report, at=before.at, failed=before.failed) == before
    return not same or bool(report.failed)


def _not_known(site: Site, why: str) -> Unreachable:
    return Unreachable(
        f"What workers {site.cluster.name} is to have is not known. {why}",
        hint="Change nothing, and ask again with the next heartbeat.",
        code="fleet-not-known",
    )
