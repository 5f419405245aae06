import dataclasses
from pathlib import Path

import pytest

from clusterra.core.errors import Invalid
from clusterra.settings import Settings, load, tables


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "clusterra.toml"
    file.write_text(text)
    return file


def test_the_file_is_read_and_variables_override_it(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
        [server]
        port = 9000
        [[clusters]]
        id = "clus1a2b"
        slurm = "http://head:6820"
        jwt_key = "/etc/slurm/jwt_hs256.key"
        embedded = { root = "/srv/lab", single_user = true }
        """,
    )

    settings = load(file, {"CLUSTERRA_SERVER_PORT": "9100", "CLUSTERRA_SLURM_POLL_SECONDS": "0.5"})

    assert settings.server.port == 9100
    assert settings.slurm.poll_seconds == 0.5
    [cluster] = settings.clusters
    assert cluster.jwt_key == Path("/etc/slurm/jwt_hs256.key")
    assert cluster.embedded is not None
    assert cluster.embedded.single_user is True


KEYS = [(table, key.name) for table, kind in tables(Settings) for key in dataclasses.fields(kind)]


@pytest.mark.parametrize(("table", "key"), KEYS)
def test_every_key_of_a_table_that_stands_once_can_be_set_by_a_variable(
    table: str, key: str
) -> None:
    variable = {f"CLUSTERRA_{table}_{key}".upper(): "word"}
    try:
        told = repr(load(None, variable))
    except Invalid as error:  # it is a number, or its table needs more than this key
        told = error.detail

    assert told != repr(Settings())
    assert f"{table}." in told or "word" in told


def test_lists_and_files_can_be_set_by_variables() -> None:
    webhooks = load(
        None,
        {
            "CLUSTERRA_WEBHOOKS_PRIVATE": "10.1.0.0/16,ci.lab.example",
            "CLUSTERRA_WEBHOOKS_KEY": "/etc/clusterra/webhooks.key",
            "CLUSTERRA_WEBHOOKS_TIMEOUT_SECONDS": "2.5",
        },
    ).webhooks

    assert webhooks.private == ("10.1.0.0/16", "ci.lab.example")
    assert webhooks.key == Path("/etc/clusterra/webhooks.key")
    assert webhooks.timeout_seconds == 2.5


@pytest.mark.parametrize(
    ("text", "detail", "hint"),
    [
        ("[server]\nprot = 1", "There is no setting server.prot.", "Did you mean server.port?"),
        ("[server]\nport = 'x'", "The setting server.port cannot be 'x'.", "It is a whole number."),
        ("[[clusters]]\nid = 'a'", "The setting clusters[0].slurm is missing.", "Add it"),
        ("port = ", "is not TOML", "Mend that line"),
    ],
)
def test_a_wrong_setting_stops_the_start_and_is_named(
    tmp_path: Path, text: str, detail: str, hint: str
) -> None:
    with pytest.raises(Invalid) as caught:
        load(written(tmp_path, text), {})

    assert detail in caught.value.detail
    assert hint in caught.value.hint


def test_a_missing_file_is_named() -> None:
    with pytest.raises(Invalid, match=r"nowhere\.toml cannot be read"):
        load(Path("nowhere.toml"), {})
