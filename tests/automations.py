"""A lab with ana (a member), ben (a member) and eva (an admin), their jobs, and their automations."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from clusterra.control.automation.fire import Actor
from clusterra.control.automation.read import Reader
from clusterra.core.access import Caller, Role
from clusterra.core.automation.read import read_rule
from clusterra.core.automation.rule import Rule
from clusterra.core.automation.then import read_then
from clusterra.core.change import Change, Record
from clusterra.core.errors import Unreachable
from clusterra.core.events.event import Event, EventQuery
from clusterra.core.jobs.compose import compose, wish_from
from clusterra.core.jobs.job import Job, JobState
from clusterra.core.jobs.request import JobRequest
from clusterra.core.people.person import Person
from clusterra.core.webhooks.endpoint import WEBHOOK, Endpoint
from clusterra.ports import Login, Store
from tests.builders import NOON
from tests.people import SOMEBODY, somebody
from tests.world import LAB, World

SCRIPT = "#!/bin/bash\n./align\n"
HOOK = "whk_1"


class Lab:
    def __init__(self, store: Store | None = None, *, world: World | None = None) -> None:
        self.world = world or (World(store=store) if store else World())
        self.world.site.user = "root"  # ana is a person here, and not who runs the server
        self.plane = self.world.plane()
        self.people: dict[str, Person] = {}
        self.told: list[tuple[str, Event]] = []
        self.reader, self.actor = self.hands(LAB)

    def hands(self, ledger: str) -> tuple[Reader, Actor]:
        """Return who reads a ledger and acts upon it."""
        automations = self.plane.automations
        automations._deeds.notify = self._told
        return automations.of_ledger(ledger)

    async def _told(self, endpoint: str, event: Event) -> None:
        self.told.append((endpoint, event))

    async def open(self) -> "Lab":
        for login, role in (("ana", Role.MEMBER), ("ben", Role.MEMBER), ("eva", Role.ADMIN)):
            self.people[login] = await somebody(self.plane, login, role)
        await self.world.observer.nodes.look()
        await self.world.observer.look()
        return self

    @property
    def workspace(self) -> str:
        return self.world.site.workspace

    async def rule(self, body: Mapping[str, Any], *, owner: str = "ana") -> Rule:
        automations = self.plane.automations
        return await automations.rules.make(
            read_rule(body),
            self.workspace,
            self.people[owner].id,
            by=SOMEBODY,
            ledgers=automations.people.ledgers_of(self.workspace),
        )

    async def hook(self, *, owner: str = "ana", id: str = HOOK) -> str:
        endpoint = Endpoint(
            id=id,
            workspace=self.workspace,
            owner=self.people[owner].id,
            name="chat",
            url_sealed="",
            since=NOON,
            created_at=NOON,
        )
        await self.world.store.commit(
            LAB, Change(puts=[Record(kind=WEBHOOK, id=id, value=endpoint)])
        )
        return id

    # --- jobs

    async def submits(self, *, user: str = "ana", then: Sequence[Any] = (), **wish: Any) -> int:
        """Submit a job through us, and start it."""
        asked = wish_from({"script": SCRIPT, "name": "align", "memory": "1G", "time": "1h"} | wish)

        def make(login: Login, run_id: str) -> JobRequest:
            return compose(
                asked, home=login.home, user=login.name, run_id=run_id, now=self.world.clock.now()
            )

        submitter, caller = self.plane.submitters[LAB], Caller(user=user)
        if then:
            said = self.plane.automations.then(
                read_then(then),
                workspace=self.workspace,
                owner=self.people[user].id,
                operator=False,
            )
            done = await said.submit(submitter, make, caller, body=b"{}", key="")
        else:
            done = await submitter.submit(make, caller, body=b"{}")
        await submitter.settle()
        await self.world.observer.look()
        self.starts(done.submission.job_id)
        await self.world.observer.look()
        return done.submission.job_id

    def starts(self, id: int) -> None:
        self.world.slurm.move(id, JobState.RUNNING)

    async def ends(self, id: int, state: JobState, **more: Any) -> None:
        job = self.world.slurm._live[id]
        if job.started_at is None:
            self.starts(id)
            await self.world.observer.look()
        self.world.clock.advance(timedelta(seconds=90))
        self.world.slurm.move(id, state, **more)
        await self.world.observer.look()
        await self.round()

    async def round(self, *, times: int = 4) -> None:
        """Read, act, and look at what became of it."""
        for _ in range(times):
            while await self.reader.read():
                pass
            while await self.actor.act():
                pass
            for submitter in self.plane.submitters.values():
                await submitter.settle()
            await self.world.observer.look()

    async def later(self, **span: float) -> None:
        self.world.clock.advance(timedelta(**span))
        await self.round()

    def jobs(self) -> list[Job]:
        """Return every job that Slurm was ever given."""
        return list(self.world.slurm._past.values())

    # --- what the ledger says

    async def said(self, types: str = "automation.*", *, ledger: str = LAB) -> list[dict[str, Any]]:
        query = EventQuery(types=(types,), limit=20_000)
        return [
            {"type": each.type, "subject": each.subject, "actor": each.actor}
            | json.loads(each.body)["data"]
            for each in await self.world.store.events(ledger, query)
        ]


class LosesACommit:
    """A store that is gone in the moment when something is to be written that has been done."""

    def __init__(self, store: Store, type: str = "automation.fired") -> None:
        self._store, self._type = store, type
        self.losses = 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, cluster: str, change: Change) -> int:
        if self.losses and any(each.fact.type == self._type for each in change.events):
            self.losses -= 1
            raise Unreachable("The disk is gone.")
        return await self._store.commit(cluster, change)
