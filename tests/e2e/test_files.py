"""Files from a terminal to a job and back; and two people, neither in the other's files."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from clusterra.client.client import Client
from clusterra.client.transfer import Arriving, Courier, Link
from clusterra.core.errors import Forbidden, Invalid, NotFound
from clusterra.wire.files import AskForLink, FilePlace
from tests.cluster import VARIANT, Running, eventually

MIB = 1 << 20


def files(
    running: Running, *words: str, person: str = "", check: bool = True
) -> "subprocess.CompletedProcess[str]":
    """Run `clusterra files` as somebody does who has a token."""
    return running.terminal("files", *words, person=person, check=check)


def output(running: Running, job_id: int, person: str = "") -> str:
    running.wait_ended(job_id)
    return running.client(person).output(running.cluster, job_id).data.decode()


def test_a_file_goes_to_a_job_and_its_result_comes_back_the_same(
    running: Running, tmp_path: Path
) -> None:
    data = os.urandom(120 * MIB)  # in parts
    (tmp_path / "x.bin").write_bytes(data)

    files(running, "put", str(tmp_path / "x.bin"), "data/run/x.bin")
    job_id = running.submit(
        'cp "$CLUSTERRA_FILES/data/run/x.bin" "$CLUSTERRA_FILES/outputs/y.bin"\n'
        'sha256sum < "$CLUSTERRA_FILES/data/run/x.bin"'
    )
    said = output(running, job_id)
    files(running, "get", "outputs/y.bin", str(tmp_path / "y.bin"))

    assert said.split()[0] == hashlib.sha256(data).hexdigest()
    assert (tmp_path / "y.bin").read_bytes() == data


def test_what_is_shared_lies_beside_what_is_ones_own_and_is_only_read(
    running: Running, tmp_path: Path
) -> None:
    (tmp_path / "ref").write_bytes(b"acgt")
    person = "ana" if VARIANT != "user" else ""
    files(running, "put", str(tmp_path / "ref"), "shared/hg38/ref")

    job_id = running.submit(
        'cat "$CLUSTERRA_FILES/shared/hg38/ref"; echo\n'
        'touch "$CLUSTERRA_FILES/shared/hg38/mine" 2>/dev/null && echo written || echo refused',
        person=person,
    )
    said = output(running, job_id, person).split()

    assert said[0] == "acgt"
    if person:
        assert said[1] == "refused"
        refused = files(
            running, "put", str(tmp_path / "ref"), "shared/x", person=person, check=False
        )
        assert (refused.returncode, "only admins write there" in refused.stderr) == (3, True)
        got = tmp_path / "got"
        files(running, "get", "shared/hg38/ref", str(got), person=person)
        assert got.read_bytes() == b"acgt"


def test_a_job_may_write_beside_the_locations_as_templates_of_others_do(running: Running) -> None:
    job_id = running.submit('mkdir -p "$CLUSTERRA_FILES/results/7" && echo "$CLUSTERRA_FILES"')

    assert output(running, job_id).startswith("/mnt/efs/")
    assert running.client().job(running.cluster, job_id).state == "COMPLETED"


def test_a_script_that_is_submitted_is_kept_with_its_versions(
    running: Running, tmp_path: Path
) -> None:
    script = tmp_path / "versioned.sh"
    for text in ("true", "false"):
        script.write_text(f"#!/bin/bash\n{text}\n")
        running.terminal("jobs", "submit", str(script))

    def both() -> bool:
        told = files(running, "versions", "scripts/versioned.sh", check=False)
        return "2 versions" in told.stdout

    eventually("both are kept", both)
    files(running, "get", "scripts/versioned.sh", str(tmp_path / "back"))
    assert (tmp_path / "back").read_text() == "#!/bin/bash\nfalse\n"


@pytest.mark.usefixtures("needs_root")
class TestTwoPeople:
    def test_neither_sees_the_others_files_in_a_job(self, running: Running, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"secret of ana")
        for location in ("scripts", "data", "outputs"):
            files(running, "put", str(tmp_path / "x"), f"{location}/secret", person="ana")

        thief = running.submit(
            "cat /mnt/efs/ana@lab.example/*/secret\n"
            "for each in scripts data outputs; do\n"
            "  cat /mnt/efs/ana@lab.example/$each/secret\n"
            "  cat $CLUSTERRA_FILES/../ana@lab.example/$each/secret\n"
            "  echo evil > /mnt/efs/ana@lab.example/$each/secret\n"
            "done\n"
            "ls /mnt/efs /mnt/efs/ana@lab.example; ls /mnt/efs/../../files\n"
            "mv /mnt/efs/ana@lab.example $CLUSTERRA_FILES/taken; id -un",
            person="ben",
        )
        said = output(running, thief, "ben")

        assert "secret of ana" not in said
        assert said.splitlines()[-1] == "ben"
        assert said.count("Permission denied") >= 10
        files(running, "get", "data/secret", str(tmp_path / "back"), person="ana")
        assert (tmp_path / "back").read_bytes() == b"secret of ana"

    def test_neither_sees_the_others_files_by_api_cli_or_link(
        self, running: Running, tmp_path: Path
    ) -> None:
        (tmp_path / "x").write_bytes(b"secret of ana")
        files(running, "put", str(tmp_path / "x"), "data/private", person="ana")
        ben = running.client("ben")

        for path in ("private", "../../ana@lab.example/data/private", "../ana@lab.example"):
            with pytest.raises((NotFound, Invalid)):
                link(ben, running, path)
        for who in ("ben", ""):
            assert "private" not in files(running, "ls", "data/", person=who).stdout
            missing = files(
                running, "get", "data/private", str(tmp_path / "y"), person=who, check=False
            )
            assert missing.returncode == 4
        own = link(running.client("ana"), running, "private")
        for changed in (
            own.url[:-3],
            own.url[:-1] + ("B" if own.url.endswith("A") else "A"),
            own.url.replace("/objects/", "/objects/x"),
        ):
            with pytest.raises((Forbidden, NotFound)), (tmp_path / "z").open("w+b") as into:
                Courier().get(
                    Link(method="GET", url=changed, headers={}), Arriving(into), lambda _: None
                )
            assert (tmp_path / "z").read_bytes() == b""

    def test_a_link_that_a_job_plants_is_not_served(self, running: Running, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"secret of ana")
        files(running, "put", str(tmp_path / "x"), "data/planted", person="ana")
        planted = running.submit(
            "cd $CLUSTERRA_FILES/outputs\n"
            "ln -s /etc/shadow shadow; ln -s ../../ana@lab.example/data/planted hers\n"
            "ln -s ../../ana@lab.example/data folder; ln -s / root\n"
            "mkfifo pipe; ln ../../ana@lab.example/data/planted hard; true",
            person="ben",
        )
        running.wait_ended(planted)
        ben = running.client("ben")

        for name in ("shadow", "hers", "folder/planted", "root/etc/passwd", "pipe", "hard"):
            with pytest.raises(NotFound):
                link(ben, running, name, location="outputs")
        listed = ben.files.page(running.cluster, FilePlace(location="outputs", path=""))
        assert not {each.name for each in listed.files} & {"shadow", "hers", "pipe", "hard"}
        assert not {each.name for each in listed.folders} & {"folder", "root"}
        # Nor is anything put through one.
        for name in ("folder/evil", "root/tmp/evil"):
            refused = files(
                running, "put", str(tmp_path / "x"), f"outputs/{name}", person="ben", check=False
            )
            assert refused.returncode == 3
        (tmp_path / "mine").write_bytes(b"of ben")
        files(running, "put", str(tmp_path / "mine"), "outputs/hers", person="ben")
        files(running, "get", "data/planted", str(tmp_path / "back"), person="ana")
        assert (tmp_path / "back").read_bytes() == b"secret of ana"

    def test_what_is_put_belongs_to_the_person(self, running: Running, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"1")
        files(running, "put", str(tmp_path / "x"), "data/deep/er/x", person="ana")

        job_id = running.submit(
            "cd $CLUSTERRA_FILES; stat -c '%U' data/deep data/deep/er/x . ; stat -c '%a' . ..\n"
            "rm -r data/deep && echo gone",
            person="ana",
        )

        assert output(running, job_id, "ana").split() == ["ana"] * 3 + ["700", "711", "gone"]


def link(client: Client, running: Running, path: str, location: str = "data") -> Link:
    wanted = AskForLink(operation="download", location=location, path=path)
    made = client.files.link(running.cluster, wanted)
    return Link(method=made.method, url=made.url, headers=made.headers)
