"""A cluster's directory: whose it is, what it stays true to, and who holds it."""

import os
import stat
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from clusterra.core.errors import Invalid, Refused
from clusterra.local.fleet import LocalFleet
from clusterra.local.settings_file import settings_toml
from clusterra.local.state import (
    Oidc,
    State,
    accept_slurm,
    hold_lock,
    is_locked,
    lay_out,
    open_state,
    write,
)
from clusterra.settings import load


def test_a_cluster_keeps_its_id(tmp_path: Path) -> None:
    _, first = open_state(tmp_path / "state")
    _, again = open_state(tmp_path / "state")

    assert first.id == again.id
    assert first.id.startswith("clus")


def test_somebody_elses_cluster_is_refused_with_the_name(tmp_path: Path) -> None:
    state, identity = open_state(tmp_path)
    state.remember(replace(identity, uid=os.geteuid() + 4242))

    with pytest.raises(Refused, match=rf"belongs to .*{os.geteuid() + 4242}"):
        open_state(tmp_path)


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(Refused, match="cannot be written") as refused:
        open_state(tmp_path / "file" / "state")

    assert "--state" in refused.value.hint


def test_a_damaged_identity_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text("{")

    with pytest.raises(Invalid, match=r"cluster\.json is damaged"):
        open_state(tmp_path)


def test_the_token_is_made_once_and_only_for_its_owner(tmp_path: Path) -> None:
    state, _ = open_state(tmp_path)
    lay_out(state)
    first = state.token.read_text()

    lay_out(state)

    assert state.token.read_text() == first
    assert len(first.strip()) >= 40
    assert stat.S_IMODE(state.token.stat().st_mode) == 0o600


def test_leftovers_of_an_earlier_life_are_gone_at_the_next_start(tmp_path: Path) -> None:
    state, _ = open_state(tmp_path)
    lay_out(state)
    (tmp_path / "run" / "mysqld" / "mysqld.sock").touch()

    lay_out(state)

    assert list((tmp_path / "run" / "mysqld").iterdir()) == []


def test_a_state_is_held_by_one(tmp_path: Path) -> None:
    state, _ = open_state(tmp_path)
    lock = hold_lock(state)
    assert lock is not None

    assert is_locked(state)
    assert hold_lock(state) is None

    os.close(lock)
    assert not is_locked(state)


def test_an_older_slurm_does_not_touch_what_a_newer_one_wrote(tmp_path: Path) -> None:
    state, identity = open_state(tmp_path)
    newer = accept_slurm(state, identity, "26.05.5")

    with pytest.raises(Refused, match=r"26\.05\.5; Slurm 24\.11\.5 cannot read"):
        accept_slurm(state, newer, "24.11.5")

    assert accept_slurm(state, newer, "26.05.4").slurm == "26.05.4"


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    write(tmp_path / "file", b"one", mode=0o600)
    write(tmp_path / "file", b"two")

    assert (tmp_path / "file").read_bytes() == b"two"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_the_control_plane_can_read_its_settings(tmp_path: Path) -> None:
    state = State(path=tmp_path / 'a "strange" ü name')
    text = settings_toml(
        state,
        cluster="clus1a2b",
        port=8420,
        slurm="http://127.0.0.1:6820",
        service_user="slurm",
        user="ana",
        single=True,
        started_at=1_800_000_000,
        owner="ana@lab.example",
        oidc=Oidc(issuer="https://id.lab.example", client_id="clusterra", domains=("lab.example",)),
        fleet=LocalFleet(arch="amd64"),
    )
    (tmp_path / "clusterra.toml").write_text(text)

    settings = load(tmp_path / "clusterra.toml", {})

    assert tomllib.loads(text)["server"]["port"] == 8420
    assert settings.server.state == state.path
    assert settings.server.owner == "ana@lab.example"
    assert settings.oidc is not None
    assert settings.oidc.issuer == "https://id.lab.example"
    assert settings.workspaces[0].domains == ("lab.example",)
    [cluster] = settings.clusters
    assert cluster.account == settings.workspaces[0].id
    assert cluster.embedded is not None
    assert cluster.embedded.root == state.path
    assert cluster.embedded.single_user
