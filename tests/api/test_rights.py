"""Every route, asked by everybody: exactly what the table of `core/access.py` says.

The routes come from the application itself, so that a new one is walked without anybody
thinking of it. What a path names is really there and is the caller's own, so that a
route which is open by mistake would answer.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import Route

from clusterra.api import pages
from clusterra.api.admit import Guarded
from clusterra.api.app import ROUTES as MODULES
from clusterra.api.app import describe, make_app
from clusterra.api.rights import PUBLIC, ROUTES
from clusterra.control.people.doing import Visit
from clusterra.control.site import Site
from clusterra.control.submit import Submission
from clusterra.core.access import ALL_SCOPES, RUNNING, TABLE, Deed, Role, Scope, Who
from clusterra.core.access import Caller as Asker
from clusterra.core.automation.read import read_rule
from clusterra.core.change import Change, Record
from clusterra.core.files.place import Location, Place
from clusterra.core.people.credentials import ACCESS_FOR, SESSION_FOR
from clusterra.core.people.person import Person
from clusterra.core.templates.workflow import WORKFLOW, StepRun, Workflow
from clusterra.core.webhooks.delivery import DeliveryState
from clusterra.core.webhooks.wish import Wish
from clusterra.ports import Cargo
from tests.api.asgi import Answer, ask
from tests.api.listening import listening
from tests.deliveries import a_delivery
from tests.objects import cargo, store_in
from tests.people import SOMEBODY, somebody
from tests.recipes import a_file as a_recipe
from tests.world import LAB, OURS, RIVAL, THEIRS, TOKEN, World

STREAM = "GET /v1/clusters/{cluster}/events/stream"
STREAMS = (STREAM, "GET /v1/clusters/{cluster}/jobs/{job_id}/output/stream")
"""Those whose answer does not end by itself."""

CODES = {
    "automation": "automation-not-found",
    "cluster": "cluster-not-found",
    "webhook": "webhook-not-found",
    "workspace": "workspace-not-found",
}

A_RULE: dict[str, Any] = {"when": "job.timeout", "do": [{"retry": {}}]}


async def a_file(site: Site, person: Person) -> None:
    """Put `data/x` there for somebody."""

    async def nothing() -> AsyncIterator[bytes]:
        yield b""

    assert site.files is not None
    await site.files.make_room(person.email, None)
    await site.files.put(f"{person.email}/data/x", nothing(), cargo(b""))


OPENS_A_SESSION = {
    "POST /v1/users/me/link",
    "POST /v1/auth/device/{code}",
    "POST /device",
}
"""A session reaches everything, so a token that does not cannot make one."""

OTHERWISE = {
    "POST /v1/auth/callback": 404,  # there is no provider
    "GET /auth/start": 404,
    "GET /auth/callback": 404,
    "POST /v1/auth/device/token": 400,  # nobody has let it in yet
    "POST /v1/clusters/{cluster}/jobs/{job_id}/requeue": 409,  # it waits
    "DELETE /v1/clusters/{cluster}": 409,  # it stands in the settings
    "PATCH /v1/clusters/{cluster}/fleet/policy": 422,  # its workers are not ours to start
    "DELETE /v1/clusters/{cluster}/storage/files": 422,  # it names no file
    "GET /v1/clusters/{cluster}/storage/versions": 422,
    "POST /v1/clusters/{cluster}/storage/uploads/{upload}/complete": 409,  # no part has come
}
"""What somebody who is let in is answered, where it is not what they asked for."""


ASKED_INSIDE = {
    "POST /v1/clusters": Deed.KEEP_CLUSTERS,
    "POST /v1/clusters/{cluster}/storage/presigned-url": Deed.CHANGE_FILES,
    "POST /v1/webhooks": Deed.KEEP_WEBHOOKS,
    "POST /v1/webhooks/trigger": Deed.KEEP_WEBHOOKS,
    "POST /v1/automations": Deed.KEEP_WEBHOOKS,
    "POST /v1/automations/dry-run": Deed.KEEP_WEBHOOKS,
    "POST /v1/templates/import": Deed.KEEP_TEMPLATES,
    "DELETE /v1/templates/{template}": Deed.KEEP_TEMPLATES,
} | {
    route: Deed.SEE_WEBHOOKS if route.startswith("GET") else Deed.KEEP_WEBHOOKS
    for route in ROUTES
    if "{webhook}" in route or "{automation}" in route
}
"""Routes whose request, or what their path names, says which workspace is meant: the deed there."""


def declared() -> set[str]:
    """Return every route that the application has, however it came to have it."""
    routes: list[Any] = [*describe().routes]
    found: set[str] = set()
    while routes:
        route = routes.pop()
        if isinstance(route, Route | APIRoute):
            methods = route.methods or set()
            found |= {f"{method} {route.path}" for method in methods - {"HEAD"}}
        else:
            routes += [*route.original_router.routes]
    # Those that are answered before the framework is reached.
    return found | {
        STREAM,
        "POST /v1/internal/events",
        "POST /v1/internal/batch",
        "POST /v1/internal/agent/heartbeat",
        "POST /v1/internal/clusters/{cluster}/node-misclassified",
        "GET /v1/objects/{cluster}/{ticket}",
        "HEAD /v1/objects/{cluster}/{ticket}",
        "PUT /v1/objects/{cluster}/{ticket}",
    }


WALKED = sorted(
    route for route, deed in ROUTES.items() if TABLE[deed].who not in (Who.MACHINE, Who.HOLDER)
)


def test_every_route_is_in_the_table_and_everything_in_the_table_is_a_route() -> None:
    assert declared() == set(ROUTES)


def test_what_the_document_describes_is_what_is_walked() -> None:
    described = {
        f"{method.upper()} {path}"
        for path, methods in describe().openapi()["paths"].items()
        for method in methods
    }

    assert described <= set(WALKED)


def test_a_route_that_says_not_what_it_is_cannot_be_made() -> None:
    router = APIRouter(route_class=Guarded)

    with pytest.raises(LookupError, match=r"GET /v1/new is not in api/rights\.py"):
        router.get("/v1/new")(lambda: None)


def test_every_route_of_the_framework_asks_before_it_answers() -> None:
    for module in MODULES:
        assert module.router.routes
        assert all(isinstance(route, Guarded) for route in module.router.routes), module


@pytest.mark.parametrize("route", sorted(ROUTES))
def test_the_door_lets_strangers_as_far_as_the_table_does_and_no_further(route: str) -> None:
    path = route.partition(" ")[2]
    anybodys = {each.partition(" ")[2] for each in WALKED if TABLE[ROUTES[each]].who is Who.ANYBODY}

    assert (PUBLIC.fullmatch(path.replace("{", "").replace("}", "")) is not None) == (
        path in anybodys
    )


@pytest.mark.parametrize("path", ["/auth/other", "/assets/a/b", "/v1/auth/x", "/logins", "/x\n"])
def test_nothing_beside_those_routes_is_open(path: str) -> None:
    assert PUBLIC.fullmatch(path) is None


# --- the walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """One of those who ask."""

    name: str
    role: Role | None = None
    """What they are in the workspace that is asked about."""

    scopes: frozenset[Scope] = ALL_SCOPES
    shows: str = "session"
    """What they show; `nothing`, or one that lets nobody in."""

    workspace: str = OURS

    @property
    def known(self) -> bool:
        return self.shows in ("session", "token", "operator")

    def outcome(self, route: str) -> int:
        """Return the status of the refusal that the table means; 0 if it lets them in."""
        right = TABLE[ASKED_INSIDE.get(route, ROUTES[route])]
        if not self.known and (self.shows != "nothing" or right.who is not Who.ANYBODY):
            return 401
        if right.who is Who.ANYBODY:
            return 0
        if isinstance(right.who, frozenset) and self.role is None:
            return 404
        role = self.role or Role.VIEWER
        allowed = right.who if isinstance(right.who, frozenset) else frozenset(Role)
        if right.who is Who.OPERATOR:
            allowed = RUNNING
        short = route in OPENS_A_SESSION and self.scopes != ALL_SCOPES
        # Before what is asked inside, the route itself is.
        short |= TABLE[ROUTES[route]].scope not in self.scopes
        return 403 if role not in allowed or right.scope not in self.scopes or short else 0


CALLERS = [
    *(Caller(name=str(role), role=role) for role in Role),
    Caller(name="operator", role=Role.OWNER, shows="operator"),
    Caller(name="owner of another workspace", workspace=THEIRS),
    Caller(name="removed, with a session", shows="session of the removed"),
    Caller(name="removed, with a token", shows="token of the removed"),
    Caller(name="nobody", shows="nothing"),
    Caller(name="garbage", shows="garbage"),
    Caller(name="garbage that looks like a token", shows="clt_garbage"),
    Caller(name="expired token", shows="expired token"),
    Caller(name="expired access to a session", shows="expired access"),
    Caller(name="ended session", shows="ended session"),
    *(
        Caller(name=f"owner's {scope} token", role=Role.OWNER, shows="token", scopes={scope})  # type: ignore[arg-type]
        for scope in Scope
    ),
]


@dataclass
class Lands:
    """Two tenants on one server, and the things that paths name, made anew for each request."""

    kept: Path
    """Where the first one's files are."""

    world: World = field(default_factory=World)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.world.site.files = store_in(self.kept, self.world.clock)
        self.other = self.world.next_door()
        self.plane = self.world.plane_with(self.other)
        self.app = make_app(self.plane)
        self.people = self.plane.people

    async def open(self) -> None:
        await self.plane.open()
        for each in (self.world, self.other):
            await each.observer.look()
        # So that every other owner may leave.
        await somebody(self.plane, "stays", Role.OWNER, workspace=OURS)

    async def person(self, caller: Caller) -> Person:
        if caller.shows == "operator":
            return self.people.operator
        role = Role.OWNER if caller.workspace == THEIRS else caller.role or Role.MEMBER
        login = f"p{next(self.numbers)}"
        return await somebody(self.plane, login, role, workspace=caller.workspace)

    async def secret(self, caller: Caller, person: Person) -> str:
        """Return what the caller shows."""
        match caller.shows:
            case "nothing":
                return ""
            case "operator":
                return TOKEN
            case "token" | "token of the removed":
                secret = await self.token(person, caller.scopes)
            case "expired token":
                return await self.token(person, caller.scopes, ends=True)
            case "session" | "session of the removed" | "ended session" | "expired access":
                secret = await self.access(person, caller.shows)
            case garbage:
                return garbage
        if caller.shows.endswith("of the removed"):
            await self.people.roster.remove(OURS, person.id, by=SOMEBODY)
        return secret

    async def access(self, person: Person, what: str) -> str:
        opened = await self.people.sessions.open(person, how="link", visit=Visit())
        if what == "expired access":
            self.world.clock.advance(ACCESS_FOR)
        if what == "ended session":
            await self.people.sessions.end(opened.session, why="", actor="", visit=Visit())
        return opened.access

    async def token(self, person: Person, scopes: frozenset[Scope], *, ends: bool = False) -> str:
        until = self.world.clock.now() if ends else None
        secret, _ = await self.people.tokens.make(
            person, name="t", scopes=scopes, within="", until=until, by=SOMEBODY
        )
        return secret

    async def places(self, route: str, person: Person) -> dict[str, str]:
        """Return what the path names: all of it there, and theirs where it is anybody's."""
        people, wanted = self.people, {"cluster": LAB, "workspace": OURS}
        wanted["name"] = pages.CSS_PATH.rpartition("/")[2]
        wanted["month"] = "2026-03"
        if "{job_id}" in route:
            login = self.world.site.user if person == people.operator else person.login
            id = await self.world.submitted_past_us(user=login)
            self.world.logs.written[id] = b"said"
            wanted["job_id"] = str(id)
        if "{token}" in route:
            await self.token(person, ALL_SCOPES)
            wanted["token"] = people.directory.tokens_of(person.id)[-1].id
        if "{session}" in route:
            opened = await people.sessions.open(person, how="link", visit=Visit())
            wanted["session"] = opened.session.id
        if "/keys" in route or "rotate-key" in route:
            for old in people.directory.keys_of(LAB):
                await people.keys.revoke(LAB, OURS, old.id, by=SOMEBODY)
            _, key = await people.keys.make(LAB, OURS, name="k", by=SOMEBODY)
            wanted["key"] = key.id
        if "{person}" in route:
            # Who leaves is oneself, and whose quota one sees; whoever is given another role,
            # somebody else.
            oneself = ROUTES[route] in (Deed.LEAVE, Deed.SEE_QUOTAS) and person != people.operator
            other = await somebody(self.plane, f"x{next(self.numbers)}", workspace=OURS)
            wanted["person"] = person.id if oneself else other.id
        if "{code}" in route:
            wanted["code"] = await self.code(person, link="link" in route)
        return wanted | await self.made(route, person)

    async def made(self, route: str, person: Person) -> dict[str, str]:
        """Return what the path names of what they have made themselves."""
        if "{webhook}" in route:
            return await self.webhook(person)
        if "{automation}" in route:
            return {"automation": await self.automation(person)}
        if "{upload}" in route:
            return {"upload": await self.upload(person)}
        return await self.recipes(route, person)

    async def webhook(self, person: Person) -> dict[str, str]:
        """Return a webhook of theirs, and an event that was to be told there."""
        endpoints = self.plane.webhooks.endpoints
        for each in endpoints.of(OURS):
            await endpoints.delete(each.id, by=SOMEBODY)
        made, _ = await endpoints.make(
            Wish(url="https://hook.example"), OURS, person, by=SOMEBODY, runs_the_server=False
        )
        row = a_delivery(endpoint=made.id, state=DeliveryState.DEAD)
        await self.plane.store.commit(OURS, Change(deliveries=[row]))
        return {"webhook": made.id, "event": row.event_id}

    async def upload(self, person: Person) -> str:
        caller = Asker(user=person.login, email=person.email)
        place = Place(location=Location.DATA, path="x", owner=person.email)
        begun = await self.plane.files.uploads.begin(
            self.world.site, caller, place, Cargo(size=5, sha256="0" * 64)
        )
        return begun[0]

    async def automation(self, person: Person) -> str:
        rules = self.plane.automations.rules
        for each in rules.of(OURS):
            await rules.delete(each.id, by=SOMEBODY)
        made = await rules.make(read_rule(A_RULE), OURS, person.id, by=SOMEBODY, ledgers=[LAB])
        return made.id

    async def recipes(self, route: str, person: Person) -> dict[str, str]:
        if "{template}" in route:
            return {"template": await self.template(theirs=route.startswith("DELETE"))}
        if "{schedule}" in route:
            return {"schedule": await self.schedule(person)}
        return {"workflow": await self.workflow(person)} if "{workflow}" in route else {}

    async def schedule(self, person: Person) -> str:
        now = self.world.clock.now()
        made = await self.plane.schedules.make(
            cluster=LAB,
            workspace=OURS,
            owner=person.id,
            operator=False,
            user=self.world.site.user if person == self.people.operator else person.login,
            template_id="everybodys",
            schedule="0 0 1 1 *",
            body={},
            first=Submission(run_id="r", user="ana", fingerprint="", at=now),
        )
        return made.id

    async def template(self, *, theirs: bool) -> str:
        catalogue = self.plane.catalogue
        if theirs:
            await catalogue.import_files(OURS, [a_recipe("ours")], SOMEBODY)
            return f"ours?workspace={OURS}"
        catalogue.stock([a_recipe("everybodys")], "clusterra")
        return "everybodys"

    async def workflow(self, person: Person) -> str:
        login = self.world.site.user if person == self.people.operator else person.login
        step = StepRun(step_id="one", template_id="everybodys", run_id="r")
        kept = Workflow(
            id=f"w{next(self.numbers)}-",
            cluster=LAB,
            user=login,
            name="w",
            at=self.world.clock.now(),
            steps=(step,),
        )
        record = Record(kind=WORKFLOW, id=f"{LAB}/{kept.id}", value=kept)
        await self.plane.store.commit("", Change(puts=[record]))
        return kept.id

    async def code(self, person: Person, *, link: bool) -> str:
        if not link:
            return (await self.people.devices.ask(agent="", visit=Visit())).request.code
        until = self.world.clock.now() + timedelta(minutes=10)
        return await self.people.links.make(person, within="", made_by="", until=until)

    async def body(self, route: str, person: Person) -> object:
        """Return a body that the route takes."""
        session = await self.people.sessions.open(person, how="link", visit=Visit())
        asked = await self.people.devices.ask(agent="", visit=Visit())
        number = next(self.numbers)
        bodies: dict[str, object] = {
            "POST /v1/auth/callback": {"code": "c", "state": "s"},
            "POST /v1/auth/link": {"code": await self.code(person, link=True)},
            "POST /auth/link": f"code={await self.code(person, link=True)}".encode(),
            "POST /v1/auth/refresh": {"refresh_token": session.refresh},
            "POST /v1/auth/device/token": {"device_code": asked.device_code},
            "POST /v1/auth/device/{code}": {"approve": True},
            "POST /device": f"code={asked.request.code}&answer=approve".encode(),
            "POST /v1/users/me/tokens": {"name": "t"},
            "POST /v1/clusters": {"name": f"new{number}", "workspace": OURS},
            "PATCH /v1/workspaces/{workspace}/people/{person}": {"role": "viewer"},
            "POST /v1/workspaces/{workspace}/people": {
                "email": f"new{number}@lab.example",
                "token": True,
            },
            "PATCH /v1/workspaces/{workspace}/quotas": {"month_micros": 5_000_000_000},
            "PATCH /v1/workspaces/{workspace}/quotas/{person}": {"month_micros": None},
            "POST /v1/workspaces/{workspace}/quotas/{person}/raise": {"micros": 0},
            "PUT /v1/clusters/{cluster}/prices/rates": {"cpu_usd_per_hour_micros": 40_000},
            "POST /v1/clusters/{cluster}/jobs/submit": {"script": "#!/bin/sh\n"},
            "POST /v1/clusters/{cluster}/jobs/estimate": {"script": "#!/bin/sh\n"},
            "POST /v1/clusters/{cluster}/jobs/cancel": {"query": "state:live"},
            "PATCH /v1/clusters/{cluster}/jobs/{job_id}": {"name": "renamed"},
            "POST /v1/clusters/{cluster}/storage/presigned-url": {
                "operation": "upload",
                "location": "data",
                "path": "x",
                "sha256": "0" * 64,
            },
            "POST /v1/clusters/{cluster}/storage/copy": self.two_places(number),
            "POST /v1/clusters/{cluster}/storage/move": self.two_places(number),
            "POST /v1/clusters/{cluster}/storage/uploads/{upload}/parts": {
                "parts": [{"number": 1, "sha256": "0" * 64}]
            },
            "POST /v1/webhooks": {"url": "https://hook.example", "workspace": OURS},
            "POST /v1/webhooks/trigger": {"type": "job.failed", "workspace": OURS},
            "POST /v1/webhooks/{webhook}/replay": {"event_id": "event-1"},
            "POST /v1/automations": A_RULE | {"workspace": OURS},
            "POST /v1/automations/dry-run": {"automation": A_RULE, "workspace": OURS},
            "PATCH /v1/automations/{automation}": {"state": "off"},
            "POST /v1/templates/import": {"files": [], "workspace": OURS},
            "POST /v1/templates/validate": {"files": []},
        }
        return bodies.get(route, {})

    @staticmethod
    def two_places(number: int) -> object:
        return {
            "source": {"location": "data", "path": "x"},
            "target": {"location": "data", "path": f"y{number}"},
        }

    async def asked(self, route: str, caller: Caller, **instead: str) -> Answer:
        """Ask for a route the way this caller would; `instead` swaps what the path names."""
        person = await self.person(caller)
        places = await self.places(route, person) | instead
        body = await self.body(route, person)
        if route.endswith(("/copy", "/move")):
            await a_file(self.world.site, person)
        secret = await self.secret(caller, person)
        method, _, path = route.partition(" ")
        address = f"192.0.2.{next(self.numbers) % 250}"
        if route in STREAMS:
            shown = f"Bearer {secret}" if secret else ""
            path = path.format(**places)
            async with listening(self.app, path, token="", authorization=shown) as listener:
                return Answer(status=listener.status, body=listener.heard)
        # Strangers come from many places: how often one may fail is another test.
        self.world.clock.advance(timedelta(seconds=7))
        return await ask(
            self.app, method, path.format(**places), body, token=secret, address=address
        )


@pytest.fixture(scope="module")
def lands(tmp_path_factory: pytest.TempPathFactory) -> Lands:
    """Once for all: describing the application takes longer than asking it."""
    return Lands(tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize("caller", CALLERS, ids=lambda each: each.name)
def test_everybody_is_answered_what_the_table_says_at_every_route(
    caller: Caller, lands: Lands
) -> None:
    async def story() -> None:
        await lands.open()
        for route in WALKED:
            answer = await lands.asked(route, caller)

            outcome = caller.outcome(route)
            about = f"{route} for {caller.name}: {answer.status} {answer.body[:200]!r}"
            if outcome:
                assert answer.status == outcome, about
            elif route in OTHERWISE:
                assert answer.status == OTHERWISE[route], about
            else:
                assert answer.status < 400, about
            if outcome == 404:
                where = next((name for name in CODES if f"{{{name}}}" in route), "workspace")
                assert answer.json["code"] == CODES[where], about

    asyncio.run(story())


@pytest.mark.parametrize("name", ["cluster", "workspace"])
def test_what_belongs_to_another_tenant_is_not_told_from_what_does_not_exist(
    name: str, lands: Lands
) -> None:
    theirs, nowhere = {"cluster": (RIVAL, "clusnone"), "workspace": (THEIRS, "nonex")}[name]

    async def story() -> None:
        await lands.open()
        owner = Caller(name="owner", role=Role.OWNER)
        for route in WALKED:
            if f"{{{name}}}" not in route:
                continue
            there = await lands.asked(route, owner, **{name: theirs})
            none = await lands.asked(route, owner, **{name: nowhere})

            assert (there.status, none.status) == (404, 404), route
            assert there.body.replace(theirs.encode(), nowhere.encode()) == none.body, route
            assert there.json["code"] == CODES[name]

    asyncio.run(story())


def test_a_token_for_one_workspace_reaches_no_other_by_any_route(lands: Lands) -> None:
    async def story() -> None:
        await lands.open()
        person = await somebody(lands.plane, "eva", Role.OWNER, workspace=OURS)
        await somebody(lands.plane, "eva", Role.OWNER, workspace=THEIRS)
        secret, _ = await lands.people.tokens.make(
            person, name="t", scopes=ALL_SCOPES, within=THEIRS, until=None, by=SOMEBODY
        )
        for route in WALKED:
            who, (method, _, path) = TABLE[ROUTES[route]].who, route.partition(" ")
            if route in STREAMS or who in (Who.ANYBODY, Who.SOMEBODY):
                continue
            places = await lands.places(route, person)
            answer = await ask(lands.app, method, path.format(**places), {}, token=secret)
            assert answer.status == (403 if who is Who.OPERATOR else 404), route

        for path, found in (("/v1/workspaces", "workspaces"), ("/v1/clusters", "clusters")):
            listed = (await ask(lands.app, "GET", path, token=secret)).json[found]
            assert [each["id"] for each in listed] == [{"w": THEIRS, "c": RIVAL}[found[0]]]
        me = (await ask(lands.app, "GET", "/v1/users/me", token=secret)).json
        assert [each["id"] for each in me["workspaces"]] == [THEIRS]
        audit = await ask(lands.app, "GET", f"/v1/audit?workspace={OURS}", token=secret)
        assert audit.json["code"] == "workspace-not-found"

    asyncio.run(story())


def test_a_cluster_reports_by_its_own_key_and_by_nothing_that_a_person_has(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        lands = Lands(tmp_path)
        await lands.open()
        keys = {
            id: (await lands.people.keys.make(id, where, name="", by=SOMEBODY))[0]
            for id, where in ((LAB, OURS), (RIVAL, THEIRS))
        }
        said = {"event": "job.started", "ts": "2026-03-02T12:00:00Z", "job_id": 4}
        batch: object = {"tables": {"jobs": {"update": []}}}

        async def told(secret: str, cluster: str = LAB) -> list[int]:
            events = await ask(
                lands.app, "POST", "/v1/internal/events", said, token=secret, x_cluster_id=cluster
            )
            path = f"/v1/internal/batch/ten_1/{cluster}"
            return [events.status, (await ask(lands.app, "POST", path, batch, token=secret)).status]

        assert await told(keys[LAB]) == [200, 200]
        assert await told(keys[LAB], RIVAL) == await told(keys[RIVAL]) == [401, 401]
        for caller in CALLERS:
            person = await lands.person(caller)
            secret = await lands.secret(caller, person)
            lands.world.clock.advance(SESSION_FOR)
            assert await told(secret) == [401, 401], caller.name
        for path in ("/v1/users/me", f"/v1/clusters/{LAB}/jobs", "/metrics"):
            assert (await ask(lands.app, "GET", path, token=keys[LAB])).status == 401

    asyncio.run(story())
