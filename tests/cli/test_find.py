import json
from pathlib import Path

import pytest

from clusterra.client.find import default_state, find_server
from clusterra.core.errors import Invalid, Unauthenticated, Unreachable


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return a_state(tmp_path / "state", "http://127.0.0.1:8420")


def a_state(directory: Path, url: str) -> Path:
    directory.mkdir()
    (directory / "run.json").write_text(json.dumps({"url": url, "pid": 1, "cluster": "clus1a2b"}))
    (directory / "token").write_text("secret-of-the-state\n")
    return directory


def test_a_state_directory_tells_address_token_and_cluster(state: Path) -> None:
    found = find_server({}, state=state)

    assert (found.url, found.token) == ("http://127.0.0.1:8420", "secret-of-the-state")
    assert found.cluster == "clus1a2b"


def test_an_address_comes_before_the_variable_and_both_before_a_state_directory(
    state: Path, tmp_path: Path
) -> None:
    variables = {"CLUSTERRA_URL": "http://elsewhere:1", "CLUSTERRA_TOKEN": "from-variable"}
    variables |= {"CLUSTERRA_STATE": str(state)}
    typed = tmp_path / "typed"
    typed.write_text("typed-token")

    assert find_server(variables).url == "http://elsewhere:1"
    assert find_server(variables).token == "from-variable"
    assert find_server(variables, state=state).url == "http://elsewhere:1"
    assert find_server(variables, url="http://third:1", token_file=typed).token == "typed-token"
    assert find_server({"CLUSTERRA_STATE": str(state)}).token == "secret-of-the-state"


def test_a_token_goes_only_to_the_server_it_is_for(state: Path) -> None:
    here = {"CLUSTERRA_STATE": str(state)}
    there = here | {"CLUSTERRA_URL": "http://known:1", "CLUSTERRA_TOKEN": "for-known"}

    assert find_server(here, url="http://127.0.0.1:8420/").token == "secret-of-the-state"
    assert find_server(here, url="http://stranger:1").token == ""
    assert find_server(there, url="http://known:1").token == "for-known"
    assert find_server(there, url="http://stranger:1").token == ""


def test_the_default_state_follows_xdg(tmp_path: Path) -> None:
    assert default_state({"XDG_DATA_HOME": str(tmp_path)}) == tmp_path / "clusterra"
    assert default_state({}) == Path.home() / ".local/share/clusterra"


def test_nothing_running_says_how_to_start_it(tmp_path: Path) -> None:
    with pytest.raises(Unreachable) as caught:
        find_server({}, state=tmp_path)

    assert caught.value.detail == f"No Clusterra runs from {tmp_path}."
    assert "clusterra up" in caught.value.hint
    assert "make up" in caught.value.hint


def test_a_token_that_is_missing_or_no_token_is_said_without_showing_it(state: Path) -> None:
    (state / "token").write_text("two\nlines of secrets")
    with pytest.raises(Unauthenticated) as caught:
        find_server({}, state=state)
    assert "secrets" not in caught.value.detail + caught.value.hint

    (state / "token").unlink()
    with pytest.raises(Unauthenticated, match="No such file"):
        find_server({}, state=state)


def test_a_broken_run_file_is_not_a_traceback(state: Path) -> None:
    (state / "run.json").write_text("{")

    with pytest.raises(Invalid, match=r"run\.json"):
        find_server({}, state=state)
