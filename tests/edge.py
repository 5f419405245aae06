"""An agent written from what is known of the public one, and a cluster whose fleet it runs.

Nothing of our own wire classes is used here: what is sent and read is JSON, as that
program would send and read it.
"""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp

from clusterra.api.app import make_app
from clusterra.control.edge import Wanted
from clusterra.core.people.credentials import KeyUse
from clusterra.core.scaling.fleet import Fleet
from clusterra.core.scaling.shapes import Family, Purchase, Shape
from tests.api.asgi import Answer, ask
from tests.people import SOMEBODY
from tests.world import LAB, World

HEARTBEAT = "/v1/internal/agent/heartbeat"


def a_shape(name: str, **known: Any) -> Shape:
    fields: dict[str, Any] = {
        "family": Family.GENERAL,
        "size": "small",
        "arch": "arm64",
        "vcpus": 3,
        "memory_gib": 10,
        "cpus": 2,
        "memory_mib": 8 * 1024 + 700,
    }
    return Shape(name=name, **(fields | known))


SMALL = a_shape("c2m8")
GPU = a_shape(
    "c3m14-a10g1",
    family=Family.GPU,
    arch="amd64",
    vcpus=4,
    cpus=3,
    memory_mib=14 * 1024,
    gpus=1,
    gpu_model="a10g",
)


def wanted(
    desired: dict[str, int] | None = None,
    *,
    version: int = 8,
    protected: tuple[str, ...] = (),
    retire: tuple[str, ...] = (),
    purchase: Purchase = Purchase.ON_DEMAND,
) -> Wanted:
    fleet = Fleet(version=version, desired=desired or {}, retire=retire)
    return Wanted(fleet=fleet, protected=frozenset(protected), purchase=purchase)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - nobody is told of what is looked at here
            await asyncio.sleep(0.001)


@dataclass
class Fleeted:
    """The cluster `lab` with shapes, in front of the whole application."""

    world: World = field(default_factory=World)
    heard: int = 0
    key: str = ""

    def __post_init__(self) -> None:
        self.site = self.world.site
        self.site.shapes = {each.name: each for each in (SMALL, GPU)}
        self.site.edge.heard = self._heard
        self.plane = self.world.plane()
        self.app: ASGIApp = make_app(self.plane)

    def _heard(self) -> None:
        self.heard += 1

    async def open(self, use: KeyUse = KeyUse.AGENT) -> "Fleeted":
        await self.plane.open()
        self.key, _ = await self.plane.people.keys.make(
            LAB, self.plane.people.home, name="", use=use, by=SOMEBODY
        )
        return self

    def want(self, desired: dict[str, int] | None = None, **more: Any) -> None:
        """Have this decided now."""
        self.site.edge.want(wanted(desired, **more), self.world.clock.now())

    async def waiting(self, number: int) -> None:
        """Return once so many agents wait for news."""
        await until(lambda: len(self.site.edge._waiting) == number)


@dataclass
class PublicAgent:
    """Version 5 of the agent: one heartbeat each cycle, everything applied from each 200."""

    app: ASGIApp
    key: str
    ip: str = "10.0.0.5"
    version: int = 0
    pods: dict[str, int] = field(default_factory=dict)
    """Of each shape, how many it holds in Kubernetes."""
    anchors: set[str] = field(default_factory=set)
    """Nodes that Karpenter must not disrupt."""
    slurm_key: bytes | None = None

    def body(self, **instead: Any) -> dict[str, Any]:
        """Return a heartbeat with the members that are always there; `...` leaves one out."""
        told: dict[str, Any] = {
            "cluster_id": LAB,
            "agent_version": "5.0.0",
            "capacity_pods": {name: {"count": number} for name, number in self.pods.items()},
            "last_applied_version": self.version,
            "agent_ip": self.ip,
            "k8s_nodes": [],
            "nodeclaims": [],
        }
        if self.slurm_key is not None:
            told["slurm_key_hash"] = hashlib.sha256(self.slurm_key).hexdigest()
        return {name: value for name, value in (told | instead).items() if value is not ...}

    async def beat(self, **instead: Any) -> Answer:
        answer = await self.send(self.body(**instead))
        if answer.status == 200:
            self._apply(answer.json)
        return answer

    async def send(self, body: object, **headers: str) -> Answer:
        sent = {"content_type": "application/json", "x_agent_key": self.key} | headers
        shown = {name: value for name, value in sent.items() if value}
        return await ask(self.app, "POST", HEARTBEAT, body, token="", **shown)

    def _apply(self, told: dict[str, Any]) -> None:
        version = told.get("scaling_commands_version", 0)
        if 0 < version < self.version:
            self.version = 0
        self.version = max(self.version, version)
        self.anchors = set(told.get("protected_nodes") or ())
        commands = told.get("scaling_commands") or ()
        self.pods = {each["name"]: each["replicas"] for each in commands if each["replicas"]}
