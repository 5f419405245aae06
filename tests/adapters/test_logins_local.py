"""Linux users of an embedded cluster: made when a job is submitted, and not before."""

import asyncio
from pathlib import Path

import pytest

from clusterra.adapters.logins_local import LocalLogins
from clusterra.core.errors import Refused


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nslurm:x:990:990::/:/bin/sh\n")
    (tmp_path / "etc/group").write_text("root:x:0:\n")
    return tmp_path


def test_a_rehearsal_returns_the_user_that_would_be_made_and_makes_nobody(root: Path) -> None:
    async def story() -> None:
        logins, before = LocalLogins(root), (root / "etc/passwd").read_text()

        rehearsed = await logins.rehearse("ana")

        assert (root / "etc/passwd").read_text() == before
        assert not (root / "home").exists()
        assert rehearsed.home == "/home/ana"
        assert await logins.rehearse("ana") == rehearsed

    asyncio.run(story())


@pytest.mark.parametrize(
    ("name", "single_user"), [("slurm", ""), ("Not A User", ""), ("ben", "ana")]
)
def test_a_rehearsal_refuses_whom_a_submission_refuses(
    root: Path, name: str, single_user: str
) -> None:
    async def story() -> None:
        logins = LocalLogins(root, single_user=single_user)
        with pytest.raises(Refused) as rehearsed:
            await logins.rehearse(name)
        with pytest.raises(Refused) as made:
            await logins.ensure(name, None)

        assert (rehearsed.value.code, rehearsed.value.detail) == (
            made.value.code,
            made.value.detail,
        )

    asyncio.run(story())
