"""A workspace whose machines cost a dollar per CPU and hour, with ana and ben, and its quotas."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from clusterra.control.cost.enforce import Enforcer
from clusterra.control.cost.meter import RATES
from clusterra.control.plane import Plane
from clusterra.core.change import Change, Record
from clusterra.core.clusters import Node
from clusterra.core.cost.prices import Rates
from clusterra.core.cost.quota import Quotas
from clusterra.core.cost.quota_edit import AMOUNTS, QuotaEdit
from clusterra.core.events.event import EventQuery
from clusterra.core.jobs.job import JobState
from clusterra.core.money import MICROS
from clusterra.core.people.person import ledger_of
from tests.builders import NOON
from tests.people import SOMEBODY, somebody
from tests.world import LAB, World

ANA, BEN = "ana@lab.example", "ben@lab.example"


class Spending:
    """What runs costs something: whoever has n CPUs pays n dollars per hour."""

    def __init__(self, world: World | None = None) -> None:
        self.world = world or World()
        self.world.site.user = "root"  # ana is a person here, and not who runs the server
        self.world.slurm.join(Node(name="w1", state="IDLE", cpus=64, memory_mib=64_000))
        self.plane = self.world.plane()
        self.enforcer = self.another_enforcer(self.plane)

    @property
    def workspace(self) -> str:
        return self.world.site.workspace

    def another_enforcer(self, plane: Plane) -> Enforcer:
        """Return what another server, or this one after a restart, would enforce with."""
        return Enforcer(
            book=plane.quotas,
            workspaces=lambda: [each.id for each in plane.people.workspaces],
            store=plane.store,
            clock=plane.clock,
        )

    async def open(self) -> "Spending":
        for login in ("ana", "ben"):
            await somebody(self.plane, login)
        rates = Record(kind=RATES, id=LAB, value=Rates(cpu=MICROS, since=NOON))
        await self.world.store.commit(LAB, Change(puts=[rates]))
        await self.look()
        return self

    async def restart(self) -> None:
        """Have a new server take over, with the same store and the same Slurm."""
        slurm = self.world.slurm
        self.world = World(store=self.world.store, clock=self.world.clock)
        self.world.slurm = self.world.site.slurm = slurm
        self.world.site.recorder.earlier_runs = slurm.earlier_runs
        self.world.site.user = "root"
        self.plane = self.world.plane()
        await self.plane.open()
        self.enforcer = self.another_enforcer(self.plane)

    async def look(self) -> None:
        await self.world.observer.nodes.look()
        await self.world.observer.look()

    async def limit(self, whose: str = ANA, **known: Any) -> tuple[str, ...]:
        """Set a quota; amounts in dollars."""
        amounts = {
            name: None if amount is None else round(amount * MICROS)
            for name in AMOUNTS
            if name in known
            for amount in [known.pop(name)]
        }
        if "waste" in known:
            known["waste_per_day"] = {"waste_per_day": round(known.pop("waste") * MICROS)}
        edit = QuotaEdit(amounts=amounts, **known)
        return await self.plane.quotas.set(self.workspace, whose, edit, by=SOMEBODY)

    async def runs(self, *, user: str = "ana", cpus: int = 1, minutes: int | None = 60) -> int:
        """Start a job past us, as sbatch would."""
        wanted: dict[str, Any] = {"minimum_cpus": cpus}
        if minutes is not None:
            wanted["time_limit"] = minutes
        id = await self.world.submitted_past_us(user=user, **wanted)
        self.world.slurm.move(id, JobState.RUNNING)
        await self.look()
        return id

    async def ends(self, id: int) -> None:
        self.world.slurm.move(id, JobState.COMPLETED)
        await self.look()

    async def later(self, **span: float) -> None:
        """Let time pass, look at the queue, and make a round."""
        self.world.clock.advance(timedelta(**span))
        await self.look()
        await self.round()

    async def round(self) -> None:
        await self.enforcer.enforce()
        await self.look()

    async def state(self, id: int) -> JobState:
        return (await self.world.job(id)).state

    async def told(self, types: str, *, ledger: str = "") -> Sequence[dict[str, Any]]:
        """Return what a ledger says; the cluster's, if none is named."""
        query = EventQuery(types=(types,), limit=1000)
        events = await self.world.store.events(ledger or LAB, query)
        return [
            {"type": each.type, "actor": each.actor, **json.loads(each.body)["data"]}
            for each in events
        ]

    async def told_of_quotas(self, types: str = "user.quota.*") -> Sequence[dict[str, Any]]:
        return await self.told(types, ledger=ledger_of(self.workspace))

    async def quotas(self) -> Quotas:
        return await self.plane.quotas.of(self.workspace)
