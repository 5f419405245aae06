"""Files in the terminal, against the real door and both stores: what is sent is what is fetched."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from clusterra.cli.files import get as getting
from clusterra.cli.screen import Screen
from clusterra.client.transfer import Courier
from clusterra.core.errors import Unreachable
from clusterra.settings import FileSettings
from clusterra.wire.files import LinkView
from tests.cli.conftest import Terminal
from tests.objects import listening, s3_shop, store_in
from tests.s3 import s3
from tests.world import TOKEN, World

pytestmark = pytest.mark.enable_socket

MIB = 1 << 20


@pytest.fixture(scope="module")
def s3_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with s3(tmp_path_factory.mktemp("s3")) as url:
        yield url


@pytest.fixture(params=["local", "s3"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = World()
    if request.param == "local":
        made.site.files = store_in(tmp_path / "store", made.clock)
        yield made
        return
    with s3_shop(request.getfixturevalue("s3_url")) as shop:
        made.site.files = shop.objects
        yield made


@dataclass
class Desk:
    terminal: Terminal
    here: Path

    def told(self, *words: str) -> str:
        result = self.terminal("files", *words)
        assert result.exit_code == 0, result.output + result.stderr
        return result.stdout

    def file(self, name: str, data: bytes) -> Path:
        made = self.here / name
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_bytes(data)
        return made


@pytest.fixture
def desk(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with listening(world, FileSettings(multipart_mb=20)) as url:
        terminal = Terminal({"CLUSTERRA_URL": url, "CLUSTERRA_TOKEN": TOKEN})
        terminal.watch.at = world.clock.now()
        yield Desk(terminal, here)


def random(size: int) -> bytes:
    return os.urandom(size)


def test_what_is_put_is_listed_and_got_whole(desk: Desk) -> None:
    data = random(3 * MIB + 1)
    file = desk.file("reads.fq", data)

    put = desk.told("put", str(file), "data/run7/")
    listed = desk.told("ls", "data/run7/")
    desk.told("get", "data/run7/reads.fq", "back.fq")

    assert put == "Jobs find it at $CLUSTERRA_FILES/data/run7/reads.fq\n"
    assert "reads.fq" in listed
    assert "1 file, 3.1 MB · fetch one: clusterra files get data/run7/reads.fq" in listed
    assert (desk.here / "back.fq").read_bytes() == data
    assert not list(desk.here.glob("*.part"))


def test_without_a_folder_the_locations_are_listed(desk: Desk) -> None:
    listed = desk.told("ls")

    for name in ("scripts/", "data/", "outputs/", "shared/"):
        assert name in listed


def test_a_large_file_goes_in_parts_and_comes_back_whole(desk: Desk) -> None:
    data = random(50 * MIB)
    file = desk.file("big", data)

    desk.told("put", str(file), "data/big", "--parallel", "3")
    desk.told("get", "data/big", "back")

    assert (desk.here / "back").read_bytes() == data


class Cut(Courier):
    """A connection that breaks off; some parts arrive before."""

    left = 0

    def put(self, *given: object) -> None:
        if Cut.left <= 0:
            raise Unreachable("It was cut off.")
        Cut.left -= 1
        super().put(*given)  # type: ignore[arg-type]


def test_a_put_that_was_cut_off_sends_only_the_parts_that_are_missing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random(70 * MIB)
    file = desk.file("big", data)
    monkeypatch.setattr("clusterra.cli.files.sending.Courier", Cut)
    Cut.left = 3

    cut = desk.terminal("files", "put", str(file), "data/big", "--parallel", "1")
    assert cut.exit_code == 5
    assert "nothing in data" in desk.told("ls", "data/").lower()
    sent: list[int] = []

    class Counted(Courier):
        def put(self, *given: object) -> None:
            sent.append(1)
            super().put(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("clusterra.cli.files.sending.Courier", Counted)
    again = desk.terminal("files", "put", str(file), "data/big")

    assert again.exit_code == 0, again.output
    assert "going on at 69%" in again.stderr
    assert len(sent) == 2  # of five
    desk.told("get", "data/big", "back")
    assert (desk.here / "back").read_bytes() == data


def test_a_get_that_was_cut_off_goes_on_and_is_checked(desk: Desk) -> None:
    data = random(2 * MIB)
    desk.told("put", str(desk.file("x", data)), "data/x")
    client_link = json.loads(desk.told("get", "data/x", "whole", "--json"))
    link = msgspec.convert(client_link, LinkView)
    part = getting._part_of(desk.here / "back", link)
    part.write_bytes(data[: MIB + 7])

    result = desk.terminal("files", "get", "data/x", "back")

    assert result.exit_code == 0, result.output
    assert "going on at 50%" in result.stderr
    assert (desk.here / "back").read_bytes() == data
    assert not part.exists()


def test_a_part_of_something_else_is_noticed_by_the_checksum(desk: Desk) -> None:
    data = random(2 * MIB)
    desk.told("put", str(desk.file("x", data)), "data/x")
    client_link = json.loads(desk.told("get", "data/x", "whole", "--json"))
    part = getting._part_of(desk.here / "back", msgspec.convert(client_link, LinkView))
    part.write_bytes(b"z" * MIB)

    result = desk.terminal("files", "get", "data/x", "back")

    assert result.exit_code == 1
    assert "another checksum" in result.stderr
    assert not (desk.here / "back").exists()
    assert desk.terminal("files", "get", "data/x", "back").exit_code == 0


def test_folders_go_there_and_back_with_all_below_them(desk: Desk) -> None:
    wanted = {"a.txt": b"a", "sub/b.txt": b"b", "sub/deep/ü.txt": b"c", "empty": b""}
    for name, data in wanted.items():
        desk.file(f"run7/{name}", data)
    (desk.here / "run7/link").symlink_to("/etc/passwd")

    refused = desk.terminal("files", "put", "run7", "data/")
    sent = desk.told("put", "-r", "run7", "data/")
    desk.told("get", "-r", "data/run7", "back")

    assert (refused.exit_code, refused.stderr.count("-r")) == (2, 1)
    assert sent == "4 files sent · see them: clusterra files ls data/\n"
    found = {
        str(each.relative_to(desk.here / "back")): each.read_bytes()
        for each in (desk.here / "back").rglob("*")
        if each.is_file()
    }
    assert found == wanted


def test_copies_moves_and_deletes_happen_there(desk: Desk) -> None:
    desk.told("put", str(desk.file("x", b"hello")), "data/x")

    assert desk.told("cp", "data/x", "outputs/") == "data/x is copied to outputs/x.\n"
    assert desk.told("mv", "outputs/x", "data/y/z") == "outputs/x is now data/y/z.\n"
    assert desk.told("rm", "data/x") == "data/x is deleted.\n"
    unasked = desk.terminal("files", "rm", "-r", "data/y")
    assert (unasked.exit_code, "add --yes" in unasked.stderr) == (3, True)
    assert desk.told("rm", "-r", "data/y", "--yes") == "data/y/z is deleted.\n"
    assert desk.told("ls", "data/") == "There is nothing in data/.\n"
    missing = desk.terminal("files", "get", "data/x")
    assert missing.exit_code == 4
    assert missing.stderr.splitlines() == [
        "There is no file data/x.",
        "`clusterra files ls` shows what there is.",
    ]


def test_versions_of_a_script_can_be_fetched(desk: Desk) -> None:
    for text in (b"one", b"two"):
        desk.told("put", str(desk.file("train.sh", text)), "scripts/")

    versions = json.loads(desk.told("versions", "scripts/train.sh", "--json"))["versions"]
    desk.told("get", "scripts/train.sh", "old.sh", "--version", versions[-1]["version"])

    assert "2 versions" in desk.told("versions", "scripts/train.sh")
    assert (desk.here / "old.sh").read_bytes() == b"one"


def test_usage_is_told_by_location(desk: Desk) -> None:
    desk.told("put", str(desk.file("x", b"hello")), "data/x")
    desk.told("put", str(desk.file("y", b"all")), "shared/y")

    told = desk.told("usage").splitlines()

    assert told[0] == "2 files, 8 B."
    assert any("everybody" in line and "shared" in line and "3 B" in line for line in told)


def test_a_name_without_a_location_is_explained(desk: Desk) -> None:
    result = desk.terminal("files", "put", str(desk.file("x", b"x")), "run7/x")

    assert result.exit_code == 2
    assert "Begin with scripts, data, outputs or shared, as data/run7/x" in result.stderr


def test_in_a_pipe_a_line_tells_of_each_file_and_on_a_screen_a_bar(desk: Desk) -> None:
    file = desk.file("x", random(9 * MIB))

    plain = desk.terminal("files", "put", str(file), "data/x").stderr
    desk.terminal.screen = Screen(live=True, colour=False, width=100)
    live = desk.terminal("files", "get", "data/x", "back").stderr

    assert plain.startswith("✓ data/x sent · 9.4 MB in ")
    assert "\r" not in plain
    assert "░" in live
    assert "left" in live


def test_json_is_what_the_api_answers(desk: Desk) -> None:
    file = desk.file("x", b"hello")
    desk.told("put", str(file), "data/x", "--json")

    page = json.loads(desk.told("ls", "data/", "--json"))

    assert page["files"][0]["name"] == "x"
    assert json.loads(desk.told("usage", "--json"))["bytes"] == 5
    whole = json.loads(desk.told("get", "data/x", "y", "--json"))
    assert whole["sha256"] == hashlib.sha256(b"hello").hexdigest()


def test_how_long_files_stay_is_shown_and_set(desk: Desk) -> None:
    assert "outputs  until deleted" in desk.told("retention")

    assert "outputs  90 days after they were last written" in desk.told(
        "retention", "--set", "outputs=90"
    )
    assert "outputs  until deleted" in desk.told("retention", "--set", "outputs=0")
