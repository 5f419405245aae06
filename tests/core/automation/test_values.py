"""A job may be called anything, and nothing that it is called is ever run."""

import subprocess
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clusterra.core.automation.cause import Cause
from clusterra.core.automation.values import (
    NAMES,
    check_names,
    environment,
    in_options,
    in_script,
    values,
    variable,
)
from clusterra.core.errors import Invalid, Refused
from tests.builders import NOON

CANARY = "echo owned-$((6 * 7)) >&2"
OWNED = b"owned-42"

EVERYWHERE = """#!/bin/sh
# {{job.name}}
echo bare {{job.name}}
echo "double {{job.name}}"
echo 'single {{job.name}}'
cat <<END
{{job.name}}
END
cat <<'END'
{{job.name}}
END
x=$(echo {{job.name}})
y=`echo {{job.name}}`
eval echo {{job.name}}
sh -c "echo {{job.name}}"
case {{job.name}} in a) ;; esac
echo "$CLUSTERRA_CAUSE_JOB_NAME" >/dev/null
"""
"""A value in every place where somebody may put it, also where quoting it would not help."""


def a_cause(**known: Any) -> Cause:
    facts: dict[str, Any] = {
        "id": "e1",
        "type": "job.failed",
        "ledger": "cluslab1",
        "seq": 1,
        "at": NOON,
    }
    return Cause(**(facts | {"subject": "job/4", "job_id": 4, "user": "ana"} | known))


def test_every_value_has_a_name_and_a_variable() -> None:
    known = values(a_cause(label="4_2", name="align", state="FAILED", run_id="r1"))

    assert known == {
        "job.id": "4_2",
        "job.name": "align",
        "job.user": "ana",
        "job.state": "FAILED",
        "job.run_id": "r1",
        "event.id": "e1",
        "event.type": "job.failed",
        "cluster": "cluslab1",
    }
    assert set(known) == set(NAMES)
    assert environment(known)["CLUSTERRA_CAUSE_JOB_ID"] == "4_2"
    assert environment(known)["CLUSTERRA_CAUSE_EVENT_TYPE"] == "job.failed"
    assert len(environment(known)) == len(NAMES)


def test_what_is_no_clusters_has_no_cluster() -> None:
    assert "cluster" not in values(a_cause(ledger="workspaces/lab"))


def test_a_value_that_is_missing_is_named() -> None:
    with pytest.raises(Refused, match=r"This event has no job\.name\.") as caught:
        in_script("echo {{job.name}}", values(a_cause()))
    assert caught.value.code == "missing-value"


def test_a_value_that_does_not_exist_is_refused_before_anything_happens() -> None:
    check_names("{{job.id}} {{ cluster }}", at="script")
    check_names("{ {x} } ${HOME}", at="script")
    with pytest.raises(Invalid) as caught:
        check_names("echo {{job.nmae}}", at="do[0].submit.script")
    assert caught.value.at == "do[0].submit.script"
    assert "job.name" in caught.value.hint


@pytest.mark.parametrize("name", ["align", "align-7", "a.b_c", "50%", "x=1,y:2", "a@b", "a+b"])
def test_an_ordinary_name_is_put_in_as_it_is(name: str) -> None:
    assert in_script("echo {{job.name}}", {"job.name": name}) == f"echo {name}"


@pytest.mark.parametrize(
    "name",
    [
        "$(id)", "`id`", "a;id", "a|id", "a&id", "a b", "a\nid", "a\tb", "'", '"', "\\", "#", "~",
        "*", "?", "[a]", "{a,b}", "<x", ">x", "!x", "-rf", "--force", "..", ".", "../x", "/etc",
        "ä", "\u202e", "a\x00b", "$HOME", "END\nid", "a\rb", "",
    ],
)  # fmt: skip
def test_a_name_that_could_mean_something_is_refused_with_the_way_that_works(name: str) -> None:
    with pytest.raises(Refused) as caught:
        in_script("echo {{job.name}}", {"job.name": name})
    assert caught.value.code == "unsafe-value"
    assert caught.value.hint == (
        'Read it from the environment instead: "$CLUSTERRA_CAUSE_JOB_NAME".'
    )


hostile = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="$(){}[]`'\";|&<>\\\n\t #!~*?-=ec ho./0a", max_size=40),
    st.tuples(
        st.sampled_from(["$({})", "`{}`", ";{};", "';{};'", '";{};"', "\n{}\n", "'\n{}\n'", "|{}"]),
    ).map(lambda each: each[0].format(CANARY)),
)


@given(hostile)
@example(f"$({CANARY})")
@example(f"'$({CANARY})'")
@example(f"x\n{CANARY}\n")
@example(f"END\n{CANARY}\n")
@example("-n")
def test_whatever_a_job_is_called_nothing_of_it_is_run_wherever_it_stands(name: str) -> None:
    known = {"job.name": name} if name else {}
    try:
        script = in_script(EVERYWHERE, known)
    except Refused:
        # Then it is only in the environment, where nobody runs it.
        script = '#!/bin/sh\necho "$CLUSTERRA_CAUSE_JOB_NAME"\n'
    told = {key: value.replace("\x00", " ") for key, value in environment(known).items()}
    done = subprocess.run(
        ["/bin/sh"],
        input=script.encode("utf-8", "surrogatepass"),
        env={"PATH": "/usr/bin:/bin", **told},
        capture_output=True,
        timeout=20,
        check=False,
    )

    assert OWNED not in done.stderr
    assert done.returncode == 0, done.stderr


def test_text_may_be_anything_where_it_is_only_text_and_not_where_it_is_a_path() -> None:
    known = {"job.name": "my job; $(id)\nx"}

    filled = in_options(
        {"name": "after {{job.name}}", "env": {"A": "{{job.name}}"}, "cpus": 2}, known
    )

    assert filled == {
        "name": "after my job; $(id) x",
        "env": {"A": "my job; $(id) x"},
        "cpus": 2,
    }
    for option in ("output", "workdir", "dependency", "partition"):
        with pytest.raises(Refused, match=f"the option {option}"):
            in_options({option: "/data/{{job.name}}"}, known)


def test_a_variable_is_named_after_its_value() -> None:
    assert variable("job.run_id") == "CLUSTERRA_CAUSE_JOB_RUN_ID"
