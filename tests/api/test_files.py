"""Files over HTTP: what one has is one's own, whatever a request is made of."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from clusterra.api.app import make_app
from clusterra.core.access import Role, Scope
from clusterra.core.events.event import EventQuery
from clusterra.core.files.upload import LEAST_PART
from clusterra.loops.files import file_loops
from clusterra.settings import FileSettings, Settings
from clusterra.wiring import make_plane
from tests.api.asgi import Answer, ask
from tests.objects import store_in
from tests.people import token_of
from tests.world import LAB, TOKEN, World

STORAGE = f"/v1/clusters/{LAB}/storage"


class Office:
    """Amy and ben, both members, and the boss; each with a token."""

    def __init__(self, directory: Path) -> None:
        self.world = World()
        self.root = directory / "efs"
        self.files = self.world.site.files = store_in(directory, self.world.clock)
        self.plane = make_plane(
            Settings(files=FileSettings(multipart_mb=20)),
            store=self.world.store,
            clock=self.world.clock,
            sites=[self.world.site],
            token=TOKEN,
        )
        self.app = make_app(self.plane)
        self.tokens: dict[str, str] = {}

    async def open(self) -> None:
        await self.plane.open()
        for name, role in (("amy", Role.MEMBER), ("ben", Role.MEMBER), ("boss", Role.ADMIN)):
            self.tokens[name] = await token_of(self.plane, name, role)

    async def ask(self, who: str, method: str, path: str, body: Any = None) -> Answer:
        token = self.tokens.get(who, who)
        return await ask(self.app, method, f"{STORAGE}/{path}", body, token=token)

    async def put(self, who: str, location: str, path: str, data: bytes = b"x") -> Answer:
        """Ask for a link and use it; returns the refusal, if one comes."""
        asked = await self.ask(
            who,
            "POST",
            "presigned-url",
            {
                "operation": "upload",
                "location": location,
                "path": path,
                "size": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
            },
        )
        if asked.status != 200:
            return asked
        return await self.use(asked.json, data)

    async def use(self, link: Any, data: bytes = b"") -> Answer:
        """Use a link as anybody would: without any token."""
        return await ask(
            self.app,
            link["method"],
            urlsplit(link["url"]).path,
            data,
            token="",
            content_length=str(len(data)),
            **{name.lower(): value for name, value in link["headers"].items()},
        )

    async def link(self, who: str, location: str, path: str, **more: str) -> Answer:
        body = {"operation": "download", "location": location, "path": path} | more
        return await self.ask(who, "POST", "presigned-url", body)

    async def get(self, who: str, location: str, path: str, **more: str) -> bytes:
        asked = await self.link(who, location, path, **more)
        assert asked.status == 200, asked.body
        return (await self.use(asked.json)).body


def told(directory: Path, story: Callable[[Office], Awaitable[None]]) -> None:
    async def whole() -> None:
        office = Office(directory)
        await office.open()
        await story(office)

    asyncio.run(whole())


def test_what_was_put_is_listed_and_got(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        assert (await office.put("amy", "data", "runs/x.bin", b"reads")).status == 200

        top = (await office.ask("amy", "GET", "files")).json
        folder = (await office.ask("amy", "GET", "files?location=data")).json
        inner = (await office.ask("amy", "GET", "files?location=data&path=runs/")).json

        assert [each["name"] for each in top["folders"]] == ["scripts", "data", "outputs", "shared"]
        assert folder["folders"] == [{"name": "runs", "path": "runs"}]
        assert [(each["path"], each["size"]) for each in inner["files"]] == [("runs/x.bin", 5)]
        assert inner["files"][0]["sha256"] == hashlib.sha256(b"reads").hexdigest()
        assert await office.get("amy", "data", "runs/x.bin") == b"reads"

    told(tmp_path, story)


def test_a_link_says_under_which_name_the_server_is_reached(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        await office.put("amy", "data", "x")

        link = (await office.link("amy", "data", "x")).json

        assert link["url"].startswith("http://test/v1/objects/")
        assert link["key"] == "amy@lab.example/data/x"

    told(tmp_path, story)


def test_what_is_handed_out_is_never_a_page_of_ours(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        await office.put("amy", "data", "x\u00e9.html", b"<script>alert(1)</script>")

        got = await office.use((await office.link("amy", "data", "x\u00e9.html")).json)

        disposition = got.headers["content-disposition"]
        assert disposition == "attachment; filename*=UTF-8''x%C3%A9.html"
        assert got.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in got.headers["content-security-policy"]

    told(tmp_path, story)


# --- others


THEIRS = "ben@lab.example"
WAYS = [
    f"../../{THEIRS}/data/secret",
    f"../{THEIRS}/data/secret",
    f"/{THEIRS}/data/secret",
    f"{THEIRS}/data/secret",
    "..",
    "../secret",
    f"x/../../../{THEIRS}/data/secret",
    f"..%2f..%2f{THEIRS}%2fdata%2fsecret",
    f"%2e%2e/%2e%2e/{THEIRS}/data/secret",
    f"..\\..\\{THEIRS}\\data\\secret",
    f"\x00../{THEIRS}/data/secret",
    f"．．/{THEIRS}/data/secret",
    "secret\u202e",
    "",
    "/",
    ".",
    "a//b",
]


@pytest.mark.parametrize("path", WAYS)
def test_no_path_leads_to_somebody_elses_file(tmp_path: Path, path: str) -> None:
    async def story(office: Office) -> None:
        await office.put("ben", "data", "secret", b"of ben")
        await office.put("amy", "data", "mine", b"of amy")
        two = {"location": "data", "path": path}, {"location": "data", "path": "copy"}
        for location in ("data", "scripts", "shared"):
            spelled = quote(path, safe="")
            for answer in (
                await office.link("amy", location, path),
                await office.ask("amy", "DELETE", f"files?location={location}&path={spelled}"),
                await office.ask("amy", "GET", f"versions?location={location}&path={spelled}"),
                await office.ask("amy", "POST", "copy", {"source": two[0], "target": two[1]}),
                await office.ask("amy", "POST", "move", {"source": two[0], "target": two[1]}),
            ):
                assert 400 <= answer.status < 500, answer.body
            listed = await office.ask("amy", "GET", f"files?location={location}&path={spelled}")
            assert b"secret" not in json.dumps(listed.json.get("files", [])).encode()
        assert await office.get("ben", "data", "secret") == b"of ben"

    told(tmp_path, story)


@pytest.mark.parametrize(
    "location", ["", "etc", THEIRS, f"{THEIRS}/data", "data/..", "../data", "DATA"]
)
def test_no_location_but_the_four(tmp_path: Path, location: str) -> None:
    async def story(office: Office) -> None:
        await office.put("ben", "data", "secret", b"of ben")

        answer = await office.link("amy", location, "secret")

        assert (answer.status, answer.json["code"]) == (422, "unknown-location")

    told(tmp_path, story)


def test_neither_an_admin_nor_whoever_runs_the_server_reads_what_others_have(
    tmp_path: Path,
) -> None:
    async def story(office: Office) -> None:
        await office.put("ben", "data", "secret", b"of ben")

        for who in ("boss", TOKEN):
            assert (await office.link(who, "data", "secret")).status == 404
            assert (await office.ask(who, "GET", "files?location=data")).json["files"] == []

    told(tmp_path, story)


def test_an_upload_is_gone_on_with_only_by_whoever_began_it(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        begun = await begin(office, "ben", LEAST_PART * 2)
        upload = begun["upload_id"]

        for who in ("amy", "boss", TOKEN):
            part = {"parts": [{"number": 1, "sha256": "0" * 64}]}
            for answer in (
                await office.ask(who, "GET", f"uploads/{upload}"),
                await office.ask(who, "POST", f"uploads/{upload}/parts", part),
                await office.ask(who, "POST", f"uploads/{upload}/complete"),
                await office.ask(who, "DELETE", f"uploads/{upload}"),
            ):
                assert (answer.status, answer.json["code"]) == (404, "upload-not-found")
            assert (await office.ask(who, "GET", "uploads")).json["total"] == 0
        assert (await office.ask("ben", "GET", "uploads")).json["total"] == 1

    told(tmp_path, story)


def test_a_cursor_of_somebody_else_shows_ones_own(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        for number in range(4):
            await office.put("ben", "data", f"b{number}")
            await office.put("amy", "data", f"a{number}")
        theirs = (await office.ask("ben", "GET", "files?location=data&limit=2")).json["next"]

        page = await office.ask("amy", "GET", f"files?location=data&cursor={theirs}")
        other = await office.ask("amy", "GET", f"files?location=outputs&cursor={theirs}")

        assert all(each["name"].startswith("a") for each in page.json["files"])
        assert other.json["code"] == "bad-cursor"
        for broken in ("x", "AAAA", "Li4v"):
            answer = await office.ask("amy", "GET", f"files?location=data&cursor={broken}")
            assert answer.json["code"] == "bad-cursor"

    told(tmp_path, story)


def test_a_link_that_was_changed_in_any_place_lets_nobody_in(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        await office.put("amy", "data", "x", b"of amy")
        link = (await office.link("amy", "data", "x")).json
        head, _, ticket = urlsplit(link["url"]).path.rpartition("/")

        for place in range(len(ticket)):
            other = "A" if ticket[place] != "A" else "B"
            changed = f"{head}/{ticket[:place]}{other}{ticket[place + 1 :]}"
            got = await ask(office.app, "GET", changed, token="")
            assert got.status == 403, changed

    told(tmp_path, story)


def test_a_link_ends(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        await office.put("amy", "data", "x", b"of amy")
        link = (await office.link("amy", "data", "x")).json

        office.world.clock.advance(timedelta(minutes=15))

        assert (await office.use(link)).json["code"] == "link-expired"

    told(tmp_path, story)


# --- what is shared


def test_what_is_shared_is_read_by_all_and_written_by_admins(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        assert (await office.put("boss", "shared", "ref/hg38", b"acgt")).status == 200

        assert await office.get("amy", "shared", "ref/hg38") == b"acgt"
        source = {"location": "shared", "path": "ref/hg38"}
        mine = {"location": "data", "path": "hg38"}
        assert (
            await office.ask("amy", "POST", "copy", {"source": source, "target": mine})
        ).status == 200
        for answer in (
            await office.put("amy", "shared", "new"),
            await office.ask("amy", "DELETE", "files?location=shared&path=ref/hg38"),
            await office.ask("amy", "POST", "copy", {"source": mine, "target": source}),
            await office.ask("amy", "POST", "move", {"source": mine, "target": source}),
            await office.ask(
                "amy",
                "POST",
                "move",
                {"source": source, "target": {"location": "data", "path": "taken"}},
            ),
        ):
            assert (answer.status, answer.json["code"]) == (403, "shared-read-only")
        assert await office.get("ben", "shared", "ref/hg38") == b"acgt"

    told(tmp_path, story)


def test_a_token_that_only_reads_gets_files_and_puts_none(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        await office.put("amy", "data", "x", b"of amy")
        office.tokens["reader"] = await token_of(
            office.plane, "amy", scopes=frozenset({Scope.READ})
        )

        assert await office.get("reader", "data", "x") == b"of amy"
        refused = await office.put("reader", "data", "y")
        assert (refused.status, refused.json["code"]) == (403, "scope")

    told(tmp_path, story)


# --- files in parts, copies, versions


async def begin(office: Office, who: str, size: int, sha256: str = "") -> Any:
    body = {
        "operation": "upload",
        "location": "data",
        "path": "big",
        "size": size,
        "sha256": sha256,
    }
    return (await office.ask(who, "POST", "presigned-url", body)).json


def test_a_large_file_comes_in_parts_and_is_resumed(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        data = b"a" * LEAST_PART + b"b" * LEAST_PART + b"c"
        begun = await begin(office, "amy", len(data), hashlib.sha256(data).hexdigest())
        assert (begun["part_size"], begun["parts"], begun["url"]) == (LEAST_PART, 3, "")
        upload = begun["upload_id"]
        pieces = {n: data[(n - 1) * LEAST_PART : n * LEAST_PART] for n in (1, 2, 3)}

        async def send(*numbers: int) -> None:
            wanted = [
                {"number": n, "sha256": hashlib.sha256(pieces[n]).hexdigest()} for n in numbers
            ]
            links = await office.ask("amy", "POST", f"uploads/{upload}/parts", {"parts": wanted})
            for link in links.json["parts"]:
                assert (await office.use(link, pieces[link["number"]])).status == 200

        await send(2)
        early = await office.ask("amy", "POST", f"uploads/{upload}/complete")
        there = (await office.ask("amy", "GET", f"uploads/{upload}")).json["there"]
        await send(1, 3)
        done = await office.ask("amy", "POST", f"uploads/{upload}/complete")

        assert early.json["code"] == "parts-missing"
        assert [each["number"] for each in there] == [2]
        assert done.json == {"act": "uploaded", "location": "data", "path": "big"}
        assert await office.get("amy", "data", "big") == data
        assert (await office.ask("amy", "GET", "uploads")).json["total"] == 0

    told(tmp_path, story)


def test_an_upload_that_nobody_completes_is_given_up(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        await begin(office, "amy", LEAST_PART * 2)
        loop, _ = file_loops(office.plane, office.world.site)

        office.world.clock.advance(timedelta(days=7) - timedelta(seconds=1))
        await loop.round()
        assert (await office.ask("amy", "GET", "uploads")).json["total"] == 1
        office.world.clock.advance(timedelta(seconds=1))
        await loop.round()

        assert (await office.ask("amy", "GET", "uploads")).json["total"] == 0
        assert not list((tmp_path / "private/uploads").iterdir())

    told(tmp_path, story)


def test_copies_and_moves_and_deletes(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        await office.put("amy", "outputs", "a", b"first")
        a, b = {"location": "outputs", "path": "a"}, {"location": "data", "path": "b/c"}

        copied = await office.ask("amy", "POST", "copy", {"source": a, "target": b})
        itself = await office.ask("amy", "POST", "copy", {"source": a, "target": a})
        moved = await office.ask(
            "amy", "POST", "move", {"source": a, "target": {"location": "data", "path": "d"}}
        )
        gone = await office.ask("amy", "DELETE", "files?location=data&path=b/c")

        assert copied.json == {"act": "copied", "location": "data", "path": "b/c"}
        assert (itself.status, itself.json["at"]) == (422, "target")
        assert moved.status == gone.status == 200
        assert await office.get("amy", "data", "d") == b"first"
        again = await office.ask("amy", "DELETE", "files?location=data&path=b/c")
        assert again.json["code"] == "file-not-found"

    told(tmp_path, story)


def test_scripts_have_versions(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        for text in (b"one", b"two"):
            await office.put("amy", "scripts", "train.sh", text)

        page = (await office.ask("amy", "GET", "versions?path=train.sh")).json

        first = page["versions"][-1]["version"]
        assert len(page["versions"]) == 2
        assert await office.get("amy", "scripts", "train.sh", version=first) == b"one"
        assert (await office.link("ben", "scripts", "train.sh", version=first)).status == 404
        other = await office.ask("ben", "GET", "versions?path=train.sh")
        assert other.json["code"] == "file-not-found"

    told(tmp_path, story)


# --- how much, and for how long


def test_usage_is_ones_own_and_for_admins_everybodys(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        await office.put("amy", "data", "x", b"12345")
        await office.put("ben", "outputs", "y", b"123")
        await office.put("boss", "shared", "z", b"1")

        mine = (await office.ask("amy", "GET", "usage")).json
        all_ = (await office.ask("boss", "GET", "usage")).json

        assert (mine["files"], mine["bytes"]) == (2, 6)
        assert {each["owner"] for each in mine["held"]} == {"amy@lab.example", ""}
        assert (all_["files"], all_["bytes"]) == (3, 9)
        held = {(each["owner"], each["location"]): each["bytes"] for each in all_["held"]}
        assert held["ben@lab.example", "outputs"] == 3

    told(tmp_path, story)


def test_what_was_left_alone_for_too_long_goes_and_the_ledger_says_so(tmp_path: Path) -> None:
    async def story(office: Office) -> None:
        import os

        for path in ("old", "deep/er/old", "new"):
            await office.put("amy", "outputs", path, b"123")
        await office.put("amy", "data", "old", b"123")
        long_ago = (office.world.clock.now() - timedelta(days=30)).timestamp()
        now = office.world.clock.now().timestamp()
        room = office.root / "amy@lab.example"
        for path, at in (
            ("outputs/old", long_ago),
            ("outputs/deep/er/old", long_ago),
            ("outputs/new", now),
            ("data/old", long_ago),
        ):
            os.utime(room / path, (at, at))
        loop, _ = file_loops(office.plane, office.world.site)
        await loop.round()
        assert (room / "outputs/old").exists()

        refused = await office.ask("amy", "PATCH", "retention", {"days": {"outputs": 30}})
        wrong = await office.ask("boss", "PATCH", "retention", {"days": {"etc": 30}})
        changed = await office.ask("boss", "PATCH", "retention", {"days": {"outputs": 30}})
        await loop.round()

        assert refused.status == 403
        assert wrong.json["code"] == "unknown-location"
        assert changed.json["days"]["outputs"] == 30
        assert changed.json["set_by_admin"] is True
        left = sorted(str(each.relative_to(room)) for each in room.rglob("*") if each.is_file())
        assert left == ["data/old", "outputs/new"]
        events = await office.plane.store.events(LAB, EventQuery(limit=100))
        kinds = [event.type for event in events]
        assert kinds == ["admin.retention.changed", "files.expired"]
        assert json.loads(events[1].body)["data"]["files"] == 2
        assert json.loads(events[1].body)["data"]["bytes"] == 6
        assert events[1].subject == "user/amy@lab.example"

    told(tmp_path, story)


def test_a_cluster_without_a_place_for_files_says_so() -> None:
    async def story() -> None:
        world = World()
        app = make_app(world.plane())
        for path in ("files", "usage", "files?location=data"):
            answer = await ask(app, "GET", f"{STORAGE}/{path}")
            assert (answer.status, answer.json["code"]) == (422, "no-storage")

    asyncio.run(story())
