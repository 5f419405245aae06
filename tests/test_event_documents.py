"""What is said about events is true of every event that can be emitted."""

import re
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.adapters.envelope import spell
from clusterra.api.app import describe
from clusterra.api.catalogue import asyncapi, bundle
from clusterra.core.events.catalogue import CATALOGUE
from clusterra.core.events.catalogue.costs import ChargeFact
from clusterra.core.events.catalogue.fleet import WasteFact
from clusterra.core.events.catalogue.jobs import ArtifactTold
from clusterra.core.events.derive import derive, ripe
from clusterra.core.events.event import Draft
from clusterra.core.events.fact import Fact
from clusterra.core.jobs.job import Job, JobState
from clusterra.wire.events import EventView
from tests.builders import NOON, a_job

LAB = "cluslab1"
SCHEMAS: dict[str, dict[str, Any]] = bundle()["$defs"]

METADATA = {
    *("job_id", "label", "name", "user", "account", "partition", "state", "restarts"),
    *("array_id", "array_task", "run_id", "rebuilt", "observed_by", "reason", "nodes"),
    *("cpus", "memory_mib", "gpus", "nodes_wanted", "time_limit_minutes", "waited_seconds"),
    *("exit_code", "signal", "started_at", "ran_seconds", "ends_at"),
    *("node", "instance_id", "group", "action", "shape", "before", "after"),
    *("instance_type", "expected", "actual", "part", "slurm", "changed"),
    *("version", "rule", "waiting_jobs", "workers", "warming", "usd_per_hour_micros"),
    *("refused", "failures"),
    *("slurm_version", "api_version", "why", "unseen_seconds"),
    *("email", "address", "agent", "how", "role", "workspace", "by_rule", "login", "uid"),
    *("left_live", "use", "scopes", "expires_at", "cluster"),
    *("used", "limit", "currency", "period"),
    *("person", "estimate", "why_unknown", "basis", "estimated_micros", "charges", "seconds"),
    *("cost_micros", "total_micros", "last", "cancels_at", "micros", "causes", "unknown_nodes"),
    *("limit_micros", "mode", "usual_micros"),
    *("id", "lost", "since", "until"),
    *("percent", "event_id", "event_type", "attempts", "old_until"),
    *("artifacts", "owner", "location", "files", "bytes", "kept_days"),
    *("firing", "cause", "cause_type", "code", "made_job_id", "made_run_id"),
}
"""What an event may hold. None of it is, or can come from, a script, an environment or output:
whoever adds a field here has made sure of that."""


@pytest.mark.parametrize("type", sorted(CATALOGUE))
def test_an_event_has_no_field_for_scripts_environments_or_output(type: str) -> None:
    kind: Any = CATALOGUE[type]

    assert {field.name for field in fields(kind)} <= METADATA


def test_what_is_private_about_a_job_is_in_none_of_its_events() -> None:
    secret = "s3cret-in-a-path"
    job = a_job(
        7,
        state=JobState.FAILED,
        started_at=NOON,
        ended_at=NOON + timedelta(minutes=1),
        nodes="w1",
        exit_code=1,
        comment=secret,
        work_dir=f"/home/{secret}",
        stdout=f"/home/{secret}/out",
        stderr=f"/home/{secret}/err",
        features=secret,
        dependency=secret,
    )

    for draft in derive(None, job, cluster=LAB, now=NOON + timedelta(hours=1)):
        assert secret.encode() not in spelled(draft)


def spelled(draft: Draft) -> bytes:
    return spell(draft, cluster=LAB, seq=1, recorded_at=NOON)


def wrong(value: Any, schema: dict[str, Any], at: str = "data") -> Iterator[str]:
    """Yield what is wrong with a value; nothing may be in it that its schema does not name."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    python: dict[str, Any] = {
        "string": str,
        "integer": int,
        "boolean": bool,
        "object": dict,
        "array": list,
        "null": type(None),
    }
    if type(value) not in [python[kind] for kind in kinds]:
        yield f"{at} is {value!r}, which is none of {kinds}"
    if schema.get("format") == "date-time" and value is not None:
        datetime.fromisoformat(value)
    if isinstance(value, dict):
        yield from (f"{at} lacks {name}" for name in schema["required"] if name not in value)
        for name, part in value.items():
            if name not in schema["properties"]:
                yield f"{at} has {name}, which nobody declared"
            else:
                yield from wrong(part, schema["properties"][name], f"{at}.{name}")
    if isinstance(value, list):
        for number, part in enumerate(value):
            yield from wrong(part, schema["items"], f"{at}[{number}]")


def looks() -> Iterator[Job]:
    """Yield a job in every state it can be seen in."""
    flags = ((), ("CONFIGURING",))
    reasons = ("", "JobHeldUser", "Dependency")
    for state, flag, reason, started, restarts in product(
        JobState, flags, reasons, (None, NOON + timedelta(seconds=30)), (0, 2)
    ):
        ended = NOON + timedelta(minutes=59) if state.ended else None
        yield a_job(
            7,
            state=state,
            flags=flag,
            reason=reason,
            restarts=restarts,
            started_at=started,
            ended_at=ended,
            time_limit_minutes=60,
            nodes="w1" if started else "",
            exit_code=0 if ended else None,
            array_id=7,
            array_task=1,
            run_id="r-1",
        )


def emitted() -> Iterator[Draft]:
    later = NOON + timedelta(hours=2)
    seen = list(looks())
    for new in seen:
        yield from derive(None, new, cluster=LAB, now=later)
        yield from ripe(new, cluster=LAB, now=later)
    before = [job for job in seen if not (job.flags or job.restarts or job.state.ended)]
    for old, new in product(before, seen):
        yield from derive(old, new, cluster=LAB, now=later)


def test_whatever_is_derived_has_the_shape_its_schema_says() -> None:
    told = set()
    for draft in emitted():
        told.add(draft.fact.type)
        body = msgspec.json.decode(spelled(draft))
        assert [*wrong(body["data"], SCHEMAS[body["type"]])] == []

    # What jobs cost is told beside what happens to them: see control/billing.
    assert told == {
        type for type in CATALOGUE if type.startswith("job.") and "cost" not in type.split(".")
    }


TEXT = st.text(max_size=20)
MOMENTS = st.datetimes(timezones=st.just(UTC))
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**62), 2**62),
    bool: st.booleans(),
    datetime: MOMENTS,
    int | None: st.none() | st.integers(0, 2**40),
    datetime | None: st.none() | MOMENTS,
    tuple[str, ...]: st.lists(TEXT, max_size=4).map(tuple),
    tuple[ChargeFact, ...]: st.lists(
        st.builds(
            ChargeFact,
            since=MOMENTS,
            until=MOMENTS,
            usd_per_hour_micros=st.none() | st.integers(0, 2**40),
        ),
        max_size=2,
    ).map(tuple),
    tuple[ArtifactTold, ...]: st.lists(
        st.builds(ArtifactTold, key=TEXT, name=TEXT, size=st.integers(0, 2**40), role=TEXT),
        max_size=3,
    ).map(tuple),
    tuple[WasteFact, ...]: st.lists(
        st.builds(
            WasteFact, cause=TEXT, micros=st.integers(0, 2**40), node_seconds=st.integers(0, 2**40)
        ),
        max_size=2,
    ).map(tuple),
}


def facts() -> st.SearchStrategy[Fact]:
    def any_of(kind: type[Fact]) -> st.SearchStrategy[Fact]:
        hints = get_type_hints(kind)
        names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # dataclasses all
        return st.builds(kind, **{name: VALUES[hints[name]] for name in names})

    return st.sampled_from(list(CATALOGUE.values())).flatmap(any_of)


@given(facts(), st.text(min_size=1, max_size=20))
def test_every_event_is_a_cloudevent_and_a_standard_webhook_on_one_line(
    fact: Fact, who: str
) -> None:
    draft = Draft(id="1-2-3", fact=fact, at=NOON, actor=f"user:{who}", subject="job/41")
    raw = spelled(draft)
    event = msgspec.json.decode(raw)

    # CloudEvents 1.0: required attributes are non-empty strings; names are lower-case letters
    # and digits; attributes other than data are scalars; `time` is RFC 3339.
    assert event["specversion"] == "1.0"
    assert all(event[name] and isinstance(event[name], str) for name in ("id", "source", "type"))
    assert all(re.fullmatch(r"[a-z0-9]{1,20}", name) for name in event)
    assert all(isinstance(text, str) for name, text in event.items() if name != "data")
    for name in ("time", "timestamp", "recordedtime"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", event[name])
    # Standard Webhooks: type, timestamp and data at the top.
    assert event["timestamp"] == event["time"]
    assert isinstance(event["data"], dict)
    # A live stream sends it as one line.
    assert b"\n" not in raw
    assert b"\r" not in raw
    assert [*wrong(event["data"], SCHEMAS[event["type"]])] == []
    assert event["dataschema"] == SCHEMAS[event["type"]]["$id"]
    assert msgspec.json.decode(raw, type=EventView).seq == 1


def references(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        if isinstance(document.get("$ref"), str):
            yield document["$ref"]
        document = list(document.values())
    if isinstance(document, list):
        for part in document:
            yield from references(part)


@pytest.mark.parametrize("document", [describe().openapi(), asyncapi()], ids=["open", "async"])
def test_every_reference_in_a_document_leads_somewhere(document: dict[str, Any]) -> None:
    for reference in references(document):
        place: Any = document
        for name in reference.removeprefix("#/").split("/"):
            assert name in place, reference
            place = place[name]


def test_webhooks_and_the_stream_are_documented_for_every_kind_of_event() -> None:
    stream = asyncapi()["channels"]["events"]

    assert set(describe().openapi()["webhooks"]) == set(CATALOGUE)
    assert set(stream["messages"]) == {type.replace(".", "_") for type in CATALOGUE}
    assert stream["address"] in describe().openapi()["paths"]


def test_an_undeclared_shape_would_be_noticed() -> None:
    body = msgspec.json.decode(spelled(replace(next(emitted()), id="x")))
    schema = SCHEMAS[body["type"]]

    assert [*wrong(body["data"] | {"script": "#!/bin/sh"}, schema)]
    assert [*wrong(body["data"] | {"cpus": "2"}, schema)]
    assert [*wrong({}, schema)]
