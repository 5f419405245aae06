"""An automation is read strictly: what cannot do what somebody meant is named where it stands."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.automation.action import Act, Retry
from clusterra.core.automation.read import read_rule, spelled
from clusterra.core.automation.rule import Rule, RuleState, RuleWish, check_wish
from clusterra.core.automation.then import read_then
from clusterra.core.errors import Invalid
from clusterra.core.events.severity import Severity
from tests.builders import NOON

SCRIPT = "#!/bin/sh\ntrue\n"
WHOLE = {
    "name": "more-memory",
    "when": {
        "types": ["job.out_of_memory", "job.time*"],
        "people": ["ana"],
        "names": ["align-*"],
        "states": ["timeout"],
        "severity": "warning",
    },
    "do": [
        {"retry": {"memory_factor": 2, "most_memory": "64G", "most_time": "24h"}},
        {"submit": {"script": SCRIPT, "options": {"cpus": 2, "name": "{{job.name}}-2"}}},
        {"requeue": {}},
        {"notify": "whk_1"},
        {"call": "whk_2"},
    ],
    "most": 3,
    "backoff": "5m",
    "most_per_hour": 7,
    "state": "dry_run",
}


def read(body: dict[str, Any]) -> RuleWish:
    wish = read_rule(body)
    check_wish(wish)
    return wish


def test_a_whole_one_is_read() -> None:
    wish = read(WHOLE)

    assert wish.name == "more-memory"
    assert wish.when.types == ("job.out_of_memory", "job.time*")
    assert wish.when.states == ("TIMEOUT",)
    assert wish.when.severity is Severity.WARNING
    assert [each.act for each in wish.actions] == [
        Act.RETRY, Act.SUBMIT, Act.REQUEUE, Act.NOTIFY, Act.CALL,
    ]  # fmt: skip
    assert wish.actions[0].retry == Retry(
        memory_factor=2.0, most_memory_mib=65536, most_time_minutes=1440
    )
    assert (wish.most, wish.backoff_seconds, wish.most_per_hour) == (3, 300, 7)
    assert wish.state is RuleState.DRY_RUN


def test_what_is_written_is_read_back() -> None:
    wish = read(WHOLE)
    rule = Rule(
        id="aut_1",
        workspace="lab",
        owner="usr_1",
        name=wish.name,
        when=wish.when,
        actions=wish.actions,
        most=wish.most,
        backoff_seconds=wish.backoff_seconds,
        most_per_hour=wish.most_per_hour,
        state=wish.state,
        created_at=NOON,
    )

    assert read(spelled(rule)) == wish


def test_the_short_forms_mean_the_long_ones() -> None:
    assert read({"when": "job.timeout", "do": {"retry": {}}}) == read(
        {"when": {"types": ["job.timeout"]}, "do": [{"retry": {}}]}
    )
    assert read({"when": ["job.timeout"], "do": ["retry"]}).actions[0].act is Act.RETRY
    assert read({"when": "job.completed", "do": [{"submit": SCRIPT}]}).actions[0].submit.script == (
        SCRIPT
    )


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"wehn": "job.failed"}, "wehn"),
        ({"when": 5}, "when"),
        ({"when": {}}, "when"),
        ({"when": {"typs": []}}, "when.typs"),
        ({"when": {"types": "job.nothing"}}, "when.types"),
        ({"when": {"types": [5]}}, "when.types"),
        ({"when": {"types": ["job.timeout"], "severity": "loud"}}, "when.severity"),
        ({"when": {"types": ["job.timeout"], "names": [""]}}, "when.names"),
        ({"do": []}, "do"),
        ({"do": 5}, "do"),
        ({"do": [5]}, "do[0]"),
        ({"do": [{}]}, "do[0]"),
        ({"do": [{"retry": {}, "requeue": {}}]}, "do[0]"),
        ({"do": [{"rettry": {}}]}, "do[0]"),
        ({"do": [{"retry": {"factor": 2}}]}, "do[0].retry.factor"),
        ({"do": [{"retry": {"memory_factor": 0.5}}]}, "do[0].retry.memory_factor"),
        ({"do": [{"retry": {"memory_factor": True}}]}, "do[0].retry.memory_factor"),
        ({"do": [{"retry": {"memory_factor": "2"}}]}, "do[0].retry.memory_factor"),
        ({"do": [{"retry": {"most_memory": "lots"}}]}, "do[0].retry.most_memory"),
        ({"do": [{"retry": {"plain": "yes"}}]}, "do[0].retry.plain"),
        ({"do": [{"requeue": {"x": 1}}]}, "do[0].requeue.x"),
        ({"do": [{"notify": "https://x"}]}, "do[0].notify"),
        ({"do": [{"notify": None}]}, "do[0].notify"),
        ({"do": [{"submit": {}}]}, "do[0].submit"),
        ({"do": [{"submit": {"script": SCRIPT, "template": "t"}}]}, "do[0].submit"),
        ({"do": [{"submit": {"script": "true"}}]}, "do[0].submit.line 1"),
        ({"do": [{"submit": {"script": SCRIPT, "options": {"cpu": 1}}}]}, "do[0].submit.options.cpu"),
        ({"do": [{"submit": {"script": SCRIPT, "options": {"cpus": "x"}}}]}, "do[0].submit.cpus"),
        ({"do": [{"submit": {"script": SCRIPT + "{{job.x}}"}}]}, "do[0].submit.script"),
        ({"do": [{"retry": {}}] * 11}, "do"),
        ({"most": 0}, "most"),
        ({"most": "2"}, "most"),
        ({"most": True}, "most"),
        ({"backoff": "soon"}, "backoff"),
        ({"backoff": "2d"}, "backoff"),
        ({"backoff": -1}, "backoff"),
        ({"most_per_hour": 0}, "most_per_hour"),
        ({"state": "maybe"}, "state"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a\nb"}, "name"),
        # What would wait for ever, in silence.
        ({"when": "node.down"}, "do[0].retry"),
        ({"when": "job.started"}, "do[0].retry"),
        ({"when": "job.failed"}, "do[0].retry.plain"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_where_it_stands(change: dict[str, Any], at: str) -> None:
    body = {"when": "job.timeout", "do": [{"retry": {}}]} | change
    with pytest.raises(Invalid) as caught:
        read(body)
    assert caught.value.at == at
    assert caught.value.hint


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inside: (
            st.lists(inside, max_size=3)
            | st.dictionaries(
                st.sampled_from(["when", "do", "types", "retry", "submit", "script", "most", "x"]),
                inside,
                max_size=3,
            )
        ),
        max_leaves=8,
    )
)
def test_whatever_is_sent_is_read_or_refused_in_words(value: Any) -> None:
    body = value if isinstance(value, dict) else {"when": value, "do": value}
    with suppress(Invalid):
        read(body)


def test_what_follows_a_submission_is_read_as_one_says_it() -> None:
    retry, submit = read_then(
        [
            {"when": "failed", "do": {"retry": {}}, "most": 2},
            {"when": "completed", "do": {"submit": {"script": SCRIPT}}},
        ]
    )
    assert "job.out_of_memory" in retry.when.types
    assert "job.completed" not in retry.when.types
    assert retry.most == 2
    assert submit.when.types == ("job.completed",)
    (exact,) = read_then([{"when": "job.timeout", "do": {"retry": {}}}])
    assert exact.when.types == ("job.timeout",)


@pytest.mark.parametrize(
    ("entry", "at"),
    [
        (5, "then[0]"),
        ({"when": "failed"}, "then[0].do"),
        ({"do": {"retry": {}}}, "then[0].when"),
        ({"when": "node.down", "do": {"retry": {}}}, "then[0].when"),
        ({"when": "job.nothing", "do": {"retry": {}}}, "then[0].when"),
        ({"when": "completed", "do": {"retry": {}}}, "then[0].do[0].retry"),
        ({"when": "failed", "do": {"retry": {}}, "most": 0}, "then[0].most"),
        ({"when": "failed", "do": {"retry": {}}, "state": "off"}, "then[0].state"),
    ],
)
def test_a_mistake_in_what_follows_is_named(entry: Any, at: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_then([entry])
    assert caught.value.at == at
