"""People, workspaces, tokens and keys over HTTP: who gives what to whom, and never more."""

import asyncio
import base64
from datetime import timedelta
from typing import Any

import pytest

from clusterra.api.app import make_app
from clusterra.core.access import ALL_SCOPES, Role, Scope
from clusterra.core.events.event import EventQuery
from clusterra.core.jobs.job import JobState
from clusterra.core.people.person import ledger_of
from tests.api.asgi import Answer, ask
from tests.people import SOMEBODY, signed_in, somebody, token_of
from tests.world import LAB, OURS, RIVAL, THEIRS, World

HERE = f"/v1/workspaces/{OURS}"
PEOPLE = f"{HERE}/people"
ME = "/v1/users/me"
JOBS = f"/v1/clusters/{LAB}/jobs"
SCRIPT = "#!/bin/sh\ntrue\n"
LOOK_ALIKES = [
    "\N{CYRILLIC SMALL LETTER IE}va@lab.example",
    "eva@l\N{CYRILLIC SMALL LETTER A}b.example",
    "eva@lab.example\N{ZERO WIDTH SPACE}",
    "\N{FULLWIDTH LATIN SMALL LETTER E}va@lab.example",
]


class Api:
    """Two tenants: `lab`, where everybody is, and `rival`."""

    def __init__(self) -> None:
        self.world = World()
        self.plane = self.world.plane_with(self.world.next_door())
        self.people = self.plane.people
        self._app = make_app(self.plane)

    async def __call__(
        self, method: str, path: str, body: object = None, *, by: str, **more: str
    ) -> Answer:
        return await ask(self._app, method, path, body, token=by, **more)

    async def token(self, login: str, role: Role = Role.MEMBER, **more: Any) -> str:
        return await token_of(self.plane, login, role, **more)


def refused(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["code"]


# --- roles


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MEMBER])
def test_who_does_not_run_a_workspace_leaves_it_and_removes_nobody(role: Role) -> None:
    async def story() -> None:
        api = Api()
        eva, bo = await api.token("eva", role), await somebody(api.plane, "bo")

        assert refused(await api("DELETE", f"{PEOPLE}/{bo.id}", by=eva)) == (403, "role")
        assert refused(await api("DELETE", f"{PEOPLE}/{bo.email}", by=eva)) == (403, "role")
        assert (await api("DELETE", f"{ME}/workspaces/{OURS}", by=eva)).status == 200
        assert (await api("GET", ME, by=eva)).status == 401

    asyncio.run(story())


def test_an_admin_neither_makes_nor_unmakes_an_owner_nor_becomes_one() -> None:
    async def story() -> None:
        api = Api()
        admin = await api.token("ada", Role.ADMIN)
        owner = await somebody(api.plane, "olga", Role.OWNER)
        for method, path, body in (
            ("POST", PEOPLE, {"email": "new@lab.example", "role": "owner"}),
            ("PATCH", f"{PEOPLE}/ada@lab.example", {"role": "owner"}),
            ("PATCH", f"{PEOPLE}/{owner.id}", {"role": "member"}),
            ("DELETE", f"{PEOPLE}/{owner.id}", None),
        ):
            assert refused(await api(method, path, body, by=admin)) == (403, "role"), path

        assert len(api.people.directory.owners(OURS)) == 2
        assert api.people.directory.by_email("new@lab.example") is None

    asyncio.run(story())


@pytest.mark.parametrize("role", sorted(Role))
@pytest.mark.parametrize("token", [True, False])
def test_an_admin_gets_no_way_in_as_an_owner_by_inviting_one(role: Role, token: bool) -> None:
    async def story() -> None:
        api = Api()
        admin = (await signed_in(api.plane, "ada", Role.ADMIN)).access
        await somebody(api.plane, "olga", Role.OWNER)

        body = {"email": "Olga@LAB.example", "role": role, "token": token}
        answer = await api("POST", PEOPLE, body, by=admin)

        assert answer.status in (403, 409)
        assert b"clt_" not in answer.body
        assert b"/auth/link" not in answer.body

    asyncio.run(story())


def test_the_last_owner_neither_leaves_nor_becomes_less() -> None:
    async def story() -> None:
        api = Api()
        await api.plane.open()
        owner = api.people.operator
        theirs, _ = await api.people.tokens.make(
            owner, name="", scopes=ALL_SCOPES, within="", until=None, by=SOMEBODY
        )
        path = f"{PEOPLE}/{owner.id}"

        assert refused(await api("DELETE", path, by=theirs)) == (409, "last-owner")
        assert refused(await api("PATCH", path, {"role": "admin"}, by=theirs)) == (
            409,
            "last-owner",
        )
        await somebody(api.plane, "olga", Role.OWNER)
        assert (await api("DELETE", path, by=theirs)).status == 200

    asyncio.run(story())


# --- tokens


def test_a_token_gives_no_scope_that_it_lacks() -> None:
    async def story() -> None:
        api = Api()
        narrow = await api.token("eva", Role.ADMIN, scopes=frozenset({Scope.SELF, Scope.READ}))

        for scopes in (["jobs"], ["read", "admin"], list(ALL_SCOPES)):
            answer = await api("POST", f"{ME}/tokens", {"scopes": scopes}, by=narrow)
            assert refused(answer) == (403, "scope")
        given = await api("POST", f"{ME}/tokens", {"name": "n"}, by=narrow)

        assert given.json["info"]["scopes"] == ["read", "self"]
        me = (await api("GET", ME, by=given.json["token"])).json
        assert me["scopes"] == ["read", "self"]

    asyncio.run(story())


def test_whom_a_token_invites_gets_no_more_than_it_has() -> None:
    async def story() -> None:
        api = Api()
        narrow = await api.token("ada", Role.ADMIN, scopes=frozenset({Scope.ADMIN}))

        link = await api("POST", PEOPLE, {"email": "new@lab.example"}, by=narrow)
        token = await api("POST", PEOPLE, {"email": "bot@lab.example", "token": True}, by=narrow)

        assert refused(link) == (403, "scope")
        assert api.people.directory.by_email("new@lab.example") is None
        submitted = await api("POST", f"{JOBS}/submit", {"script": SCRIPT}, by=token.json["token"])
        assert refused(submitted) == (403, "scope")

    asyncio.run(story())


def test_what_was_let_into_one_workspace_makes_nothing_that_reaches_another() -> None:
    async def story() -> None:
        api = Api()
        eva = await somebody(api.plane, "eva", Role.OWNER, workspace=OURS)
        elsewhere = await api.token("eva", Role.OWNER, workspace=THEIRS)
        inside = (await signed_in(api.plane, "eva", Role.OWNER, workspace=OURS, within=OURS)).access

        other = await api("POST", f"{ME}/tokens", {"workspace": THEIRS}, by=inside)
        same = (await api("POST", f"{ME}/tokens", {"name": "same"}, by=inside)).json
        listed = (await api("GET", f"{ME}/tokens", by=inside)).json["tokens"]
        url = (await api("POST", f"{ME}/link", by=inside)).json["url"]

        assert refused(other) == (404, "workspace-not-found")
        assert same["info"]["workspace"] == OURS
        assert [each["name"] for each in listed] == ["same"]
        link = await api("POST", "/v1/auth/link", {"code": url.rpartition("/")[2]}, by="")
        asked = (await api("POST", "/v1/auth/device", {}, by="")).json
        code, device = asked["user_code"], {"device_code": asked["device_code"]}
        await api("POST", f"/v1/auth/device/{code}", {"approve": True}, by=inside)
        terminal = (await api("POST", "/v1/auth/device/token", device, by="")).json
        reached = (same["token"], link.cookies["clusterra_session"], terminal["access_token"])
        for by in reached:
            for path in (f"/v1/workspaces/{THEIRS}", f"/v1/clusters/{RIVAL}/jobs"):
                assert (await api("GET", path, by=by)).status == 404
        tokens = api.people.directory.tokens_of(eva.id)
        [kept] = [each for each in tokens if not each.within]
        assert (await api("DELETE", f"{ME}/tokens/{kept.id}", by=inside)).status == 404
        assert (await api("GET", f"/v1/workspaces/{THEIRS}", by=elsewhere)).status == 200

    asyncio.run(story())


def test_a_token_is_shown_once_and_ends_when_it_says() -> None:
    async def story() -> None:
        api = Api()
        eva = await api.token("eva")
        made = (await api("POST", f"{ME}/tokens", {"name": "ci", "days": 1}, by=eva)).json
        listed = await api("GET", f"{ME}/tokens", by=eva)

        assert made["token"].startswith("clt_")
        assert made["token"].encode() not in listed.body
        assert (await api("GET", ME, by=made["token"])).status == 200
        api.world.clock.advance(timedelta(days=1))
        assert refused(await api("GET", ME, by=made["token"])) == (401, "token-expired")
        for days in (0, -1, 4000):
            wrong = await api("POST", f"{ME}/tokens", {"days": days}, by=eva)
            assert wrong.status == 422

    asyncio.run(story())


def test_a_revoked_token_is_refused_at_once_and_nobody_revokes_anothers() -> None:
    async def story() -> None:
        api = Api()
        eva, bo = await api.token("eva"), await api.token("bo", Role.OWNER)
        [mine] = (await api("GET", f"{ME}/tokens", by=eva)).json["tokens"]
        path = f"{ME}/tokens/{mine['id']}"

        assert (await api("DELETE", path, by=bo)).status == 404
        assert (await api("DELETE", path, by=eva)).status == 200
        assert (await api("GET", ME, by=eva)).status == 401

    asyncio.run(story())


# --- who somebody is


@pytest.mark.parametrize("role", ["member", "owner"])
def test_upper_case_is_the_same_person_and_a_look_alike_is_nobody(role: str) -> None:
    async def story() -> None:
        api = Api()
        owner = await api.token("olga", Role.OWNER)
        for email in ("Eva@Lab.Example", " eva@lab.example "):
            body = {"email": email, "role": role, "token": True}
            answer = await api("POST", PEOPLE, body, by=owner)
            assert answer.json["person"]["email"] == "eva@lab.example"
        for email in LOOK_ALIKES:
            answer = await api("POST", PEOPLE, {"email": email}, by=owner)
            assert refused(answer) == (422, "email")

        people = (await api("GET", PEOPLE, by=owner)).json["people"]
        assert [each["email"] for each in people].count("eva@lab.example") == 1

    asyncio.run(story())


@pytest.mark.parametrize(
    "body",
    [
        {"script": SCRIPT, "user": "root"},
        {"script": SCRIPT, "user_id": 0},
        {"script": SCRIPT, "uid": 0},
        {"script": SCRIPT, "sun": "root"},
        {"script": SCRIPT, "user_name": "root"},
        {"script": "#!/bin/sh\n#SBATCH --uid=0\n"},
        {"script": "#!/bin/sh\n#SBATCH --gid=0\n"},
        {"script": SCRIPT, "job": {"user_id": 0}},
        {"script": SCRIPT, "job": {"user_name": "root"}},
        {"script": SCRIPT, "job": {"uid": 0}},
        {"script": SCRIPT, "job": {"group_id": 0}},
        {"script": SCRIPT, "job": {"name": "n"}, "user_id": 0},
        {"script": SCRIPT, "job": {"name": "n"}, "sun": "root"},
    ],
)
def test_nobody_chooses_whose_a_job_is(body: dict[str, Any]) -> None:
    async def story() -> None:
        api = Api()
        for by in (await api.token("eva"), await api.token("olga", Role.OWNER)):
            answer = await api("POST", f"{JOBS}/submit", body, by=by)
            assert answer.status in (403, 422), answer.body

        assert api.world.slurm.asked["submit"] == 0

    asyncio.run(story())


def test_a_job_belongs_to_whoever_submits_it_whatever_headers_and_environment_say() -> None:
    async def story() -> None:
        api = Api()
        eva = await api.token("eva")
        pretended = {"x_slurm_user_name": "root", "x_slurm_user_token": "x", "x_user": "root"}
        for body in (
            {"script": SCRIPT, "env": {"USER": "root", "SLURM_JOB_UID": "0"}},
            {"script": SCRIPT, "job": {"environment": ["USER=root", "SLURM_JOB_USER=root"]}},
        ):
            answer = await api("POST", f"{JOBS}/submit", body, by=eva, **pretended)
            assert (answer.status, answer.json["user"]) == (201, "eva")

        assert {job.user for job in await api.world.slurm.job(1)} == {"eva"}
        assert api.world.slurm.enrolled == {("eva", "lab")}

    asyncio.run(story())


def test_a_profile_says_who_one_is_and_keeps_what_one_prefers() -> None:
    async def story() -> None:
        api = Api()
        eva = await api.token("eva", Role.VIEWER)
        await api("PATCH", ME, {"name": " Eva ", "preferences": {"theme": "dark"}}, by=eva)
        await api("PATCH", ME, {"preferences": {"density": "high", "theme": ""}}, by=eva)

        me = (await api("GET", ME, by=eva)).json

        assert (me["email"], me["login"], me["name"]) == ("eva@lab.example", "eva", "Eva")
        assert me["preferences"] == {"density": "high"}
        assert [(each["id"], each["role"]) for each in me["workspaces"]] == [(OURS, "viewer")]
        assert me["uid"] >= 1000
        for wrong in (
            {"name": "x" * 121},
            {"preferences": {"k" * 121: "v"}},
            {"preferences": {"k": "v" * 2001}},
            {"preferences": {str(n): "v" for n in range(101)}},
        ):
            assert (await api("PATCH", ME, wrong, by=eva)).status == 422

    asyncio.run(story())


# --- leaving


def test_who_is_removed_is_out_at_once_and_their_jobs_go_on() -> None:
    async def story() -> None:
        api = Api()
        admin = await api.token("ada", Role.ADMIN)
        eva, session = await api.token("eva"), await signed_in(api.plane, "eva")
        for _ in range(3):
            await api("POST", f"{JOBS}/submit", {"script": SCRIPT}, by=eva)
        api.world.slurm.move(1, JobState.RUNNING)
        api.world.slurm.move(2, JobState.COMPLETED)
        await api.world.observer.look()

        answer = await api("DELETE", f"{PEOPLE}/eva@lab.example", by=admin)

        assert (answer.json["live_jobs"], answer.json["person"]["email"]) == (2, "eva@lab.example")
        for by in (eva, session.access):
            assert (await api("GET", JOBS, by=by)).status == 401
        refresh = {"refresh_token": session.refresh}
        assert (await api("POST", "/v1/auth/refresh", refresh, by="")).status == 401
        assert (await api.world.slurm.job(1))[0].state is JobState.RUNNING
        assert api.world.slurm.asked["cancel"] == 0
        [gone] = await api.plane.store.events(
            ledger_of(OURS), EventQuery(types=("user.access.revoked",))
        )
        assert gone.actor == "user:ada@lab.example"
        assert b'"left_live":2' in gone.body

    asyncio.run(story())


def test_who_is_removed_from_one_workspace_of_two_does_not_find_it_any_more() -> None:
    async def story() -> None:
        api = Api()
        await somebody(api.plane, "eva", workspace=OURS)
        eva = await api.token("eva", workspace=THEIRS)
        await api.people.roster.remove(OURS, "eva@lab.example", by=SOMEBODY)

        assert refused(await api("GET", JOBS, by=eva)) == (404, "cluster-not-found")
        assert refused(await api("GET", HERE, by=eva)) == (404, "workspace-not-found")
        assert (await api("GET", f"/v1/clusters/{RIVAL}/jobs", by=eva)).status == 200

    asyncio.run(story())


def test_a_workspace_is_not_told_when_somebody_was_in_another() -> None:
    async def story() -> None:
        api = Api()
        await somebody(api.plane, "eva", workspace=OURS)
        await signed_in(api.plane, "eva", workspace=THEIRS, within=THEIRS)
        admin = await api.token("ada", Role.ADMIN)

        async def seen() -> Any:
            people = (await api("GET", PEOPLE, by=admin)).json["people"]
            [eva] = [each for each in people if each["login"] == "eva"]
            return eva["last_seen_at"], eva["signed_in"]

        assert await seen() == (None, False)
        await signed_in(api.plane, "eva", within=OURS)
        assert await seen() == ("2026-03-02T12:00:00Z", True)

    asyncio.run(story())


# --- workspaces, keys, audit


def test_an_admin_changes_what_a_workspace_is_called_and_shows() -> None:
    async def story() -> None:
        api = Api()
        admin = await api.token("ada", Role.ADMIN)
        answer = await api("PATCH", HERE, {"name": " The lab ", "others_jobs": "queue"}, by=admin)

        assert (answer.json["name"], answer.json["others_jobs"]) == ("The lab", "queue")
        for wrong in ({"name": " "}, {"name": "x" * 121}, {"others_jobs": "some"}):
            assert (await api("PATCH", HERE, wrong, by=admin)).status == 422
        [told] = await api.plane.store.events(
            ledger_of(OURS), EventQuery(types=("admin.workspace.changed",))
        )
        assert told.actor == "user:ada@lab.example"

    asyncio.run(story())


def test_two_keys_of_a_cluster_live_at_once_so_that_machines_change_over() -> None:
    async def story() -> None:
        api = Api()
        admin = await api.token("ada", Role.ADMIN)
        keys = f"/v1/clusters/{LAB}/keys"
        old, new = [(await api("POST", keys, {"name": "k"}, by=admin)).json for _ in range(2)]

        async def tells(key: str) -> int:
            said = {"event": "job.started", "ts": "2026-03-02T12:00:00Z", "job_id": 4}
            path = "/v1/internal/events"
            return (await api("POST", path, said, by=key, x_cluster_id=LAB)).status

        assert refused(await api("POST", keys, {}, by=admin)) == (409, "too-many-keys")
        assert [await tells(each["key"]) for each in (old, new)] == [200, 200]
        assert (await api("DELETE", f"{keys}/{old['info']['id']}", by=admin)).status == 200
        assert [await tells(each["key"]) for each in (old, new)] == [401, 200]
        listed = await api("GET", keys, by=admin)
        assert [each["id"] for each in listed.json["keys"]] == [new["info"]["id"]]
        assert new["key"].encode() not in listed.body

    asyncio.run(story())


def test_a_key_is_revoked_through_its_own_cluster_only() -> None:
    async def story() -> None:
        api = Api()
        rival = await api.token("rita", Role.OWNER, workspace=THEIRS)
        _, key = await api.people.keys.make(LAB, OURS, name="", by=SOMEBODY)

        answer = await api("DELETE", f"/v1/clusters/{RIVAL}/keys/{key.id}", by=rival)

        assert refused(answer) == (404, "key-not-found")
        assert api.people.directory.keys_of(LAB) == [key]

    asyncio.run(story())


def test_an_admin_sees_what_everybody_did_and_others_what_they_did_themselves() -> None:
    async def story() -> None:
        api = Api()
        admin = await api.token("ada", Role.ADMIN)
        eva, bo = await api.token("eva"), await api.token("bo")
        rival = await api.token("rita", Role.OWNER, workspace=THEIRS)
        for by in (eva, bo):
            await api("POST", f"{JOBS}/submit", {"script": SCRIPT}, by=by)
        await api.world.observer.look()

        async def acts(by: str, query: str = "type=job.submitted") -> list[str]:
            page = (await api("GET", f"/v1/audit?{query}", by=by)).json
            return sorted(each["authid"] for each in page["events"])

        assert await acts(admin) == ["bo@lab.example", "eva@lab.example"]
        assert (
            await acts(eva)
            == await acts(eva, "actor=eva@lab.example&type=job.*")
            == ["eva@lab.example"]
        )
        assert await acts(eva, "actor=user:bo@lab.example") == []
        assert await acts(rival) == []
        assert "rita@lab.example" not in await acts(admin, "")

    asyncio.run(story())


def test_the_audit_is_read_page_by_page_and_a_cursor_of_somebody_else_is_refused() -> None:
    async def story() -> None:
        api = Api()
        admin = await api.token("ada", Role.ADMIN)
        for number in range(5):
            await somebody(api.plane, f"p{number}")
        whole = (await api("GET", "/v1/audit", by=admin)).json["events"]
        seen, cursor = [], ""
        while True:
            page = (await api("GET", f"/v1/audit?limit=2&cursor={cursor}", by=admin)).json
            seen += page["events"]
            if not (cursor := page["next"]):
                break

        assert [each["id"] for each in seen] == [each["id"] for each in whole]
        assert len(whole) >= 5
        for forged in (b"x", b"[]", b'{"lab":"1"}', b'{"lab":-1}', b'{"lab":%d}' % 10**30):
            text = base64.urlsafe_b64encode(forged).decode().rstrip("=")
            answer = await api("GET", f"/v1/audit?cursor={text}", by=admin)
            assert refused(answer) == (422, "bad-cursor"), forged

    asyncio.run(story())
