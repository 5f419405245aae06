"""Why a job waits: the cause is named with its numbers, and every claim has a row behind it."""

from dataclasses import replace
from pathlib import Path

import pytest

from clusterra.core.access import Caller, OthersJobs, Role
from clusterra.core.jobs.job import JobState
from clusterra.core.jobs.pending.codes import CODES
from clusterra.core.jobs.pending.explain import ahead_of, explain
from clusterra.core.jobs.pending.facts import Line
from clusterra.core.jobs.pending.limit_names import named
from clusterra.core.jobs.pending.why import Kind, Source, Why
from clusterra.core.limits import Holder, Measure, Per
from clusterra.core.scaling.plan import Cause, Wait
from clusterra.core.seen import Seen, Unseen
from tests.builders import NOON, a_job
from tests.core.pending.facts import (
    NODE,
    NOW,
    SITUATIONS,
    Situation,
    facts,
    limit,
    limits,
    planned,
    row,
    rules,
    running,
    waiting,
)

HERE = Path(__file__).parent
REASONS = sorted(
    {
        code
        for version in ("24.11", "26.05")
        for code in (HERE / f"reasons-{version}.txt").read_text().split()
    }
)


def everything_said(why: Why) -> str:
    claims = [f"{link.claim} {link.evidence}" for link in why.chain]
    return "\n".join([why.summary, *claims, *(f"{each.say} {each.command}" for each in why.sooner)])


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_the_cause_is_named_with_its_numbers(situation: Situation) -> None:
    why = explain(situation.job, facts(**situation.facts))

    assert why.kind is situation.kind
    for words in situation.says:
        assert words in why.summary
    assert situation.sooner in "\n".join(f"{each.say} {each.command}" for each in why.sooner)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_every_claim_has_a_row_behind_it(situation: Situation) -> None:
    why = explain(situation.job, facts(**situation.facts))

    assert why.chain
    assert all(link.evidence for link in why.chain)


@pytest.mark.parametrize(
    "code", [*REASONS, "", "SomethingNew", "ReqNodeNotAvail, UnavailableNodes:w1"]
)
def test_every_reason_slurm_has_is_answered(code: str) -> None:
    why = explain(waiting(code), facts())

    assert why.summary.endswith((".", "?"))
    assert why.chain
    assert all(link.evidence for link in why.chain)
    assert code in CODES or named(code) or code.startswith(("Something", "ReqNodeNotAvail"))


def test_a_reason_nobody_knows_is_passed_on_in_slurms_own_words() -> None:
    why = explain(waiting("QuantumFlux", reason_said="Quantum_flux too low"), facts())

    assert why.kind is Kind.OTHER
    assert "Quantum flux too low" in why.summary


def test_what_could_not_be_seen_is_said_and_not_guessed() -> None:
    blind = facts(limits=Unseen("slurmdbd does not answer."), stale="Slurm is silent.")

    why = explain(waiting("AssocGrpCpuLimit"), blind)

    assert why.kind is Kind.LIMIT
    assert why.summary.startswith("As last seen: ")
    assert any("slurmdbd does not answer" in each for each in why.unseen)
    assert any("Slurm is silent" in each for each in why.unseen)


def test_a_limit_that_was_lifted_is_not_made_up() -> None:
    why = explain(waiting("AssocGrpCpuLimit"), facts(**limits()))

    assert "lifted" in why.summary


def test_a_job_past_a_limit_by_itself_is_told_that_waiting_will_not_help() -> None:
    most = limit(Holder.ASSOCIATION, Per.GROUP, Measure.AT_ONCE, 1, resource="cpu", of="lab")
    seen = facts(**limits(most))
    job = waiting("AssocGrpCpuLimit", cpus=2)

    assert "by itself too much" in explain(job, seen).summary
    assert ahead_of(job, seen) is None


def test_the_tightest_of_several_limits_is_the_one_that_is_named() -> None:
    wide = limit(Holder.ASSOCIATION, Per.GROUP, Measure.AT_ONCE, 90, resource="cpu", of="root")
    tight = limit(Holder.ASSOCIATION, Per.GROUP, Measure.AT_ONCE, 3, resource="cpu", of="lab")
    why = explain(waiting("AssocGrpCpuLimit"), facts(live=[running(18)], **limits(wide, tight)))

    assert "Account lab allows 3 CPUs" in why.summary


QUEUE = Caller(user="ana", role=Role.MEMBER, others_jobs=OthersJobs.QUEUE)
HIDDEN = Caller(user="ana", role=Role.MEMBER, others_jobs=OthersJobs.HIDDEN)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_hidden_jobs_are_only_counted(situation: Situation) -> None:
    why = explain(situation.job, facts(**{**situation.facts, "caller": HIDDEN}))

    assert "ben" not in everything_said(why)
    others = [row for link in why.chain for row in link.evidence if row.kind is Source.JOB]
    assert all(row.says.get("user") in (None, "ana") for row in others)


def test_those_ahead_are_counted_for_whom_they_are_hidden_from() -> None:
    ahead = Line(ahead=2, waiting=7, first=[a_job(18, user="ben"), a_job(19, user="ben")])

    said = everything_said(explain(waiting("Priority"), facts(line=ahead, caller=HIDDEN)))

    assert "2 jobs of others" in said
    assert "2 of 7" in said


def test_others_jobs_are_named_without_their_names_where_the_queue_is_open() -> None:
    ahead = Line(ahead=1, waiting=2, first=[a_job(18, user="ben", name="secret-project")])

    said = everything_said(explain(waiting("Priority"), facts(line=ahead, caller=QUEUE)))

    assert "ben: 18" in said
    assert "secret-project" not in said


def test_a_job_that_runs_is_said_to_run_and_what_it_waited_for() -> None:
    job = running(41, started_at=NOON.replace(minute=2))
    history = [row("job.pending", reason="Licenses", seq=5), row("job.started", seq=6)]

    why = explain(job, facts(history=history))

    assert why.summary == "It does not wait: it is running on w1, after waiting 2m 00s."
    assert any("Licenses" in link.claim for link in why.chain)
    assert ahead_of(job, facts()) is None


def test_a_job_whose_nodes_are_made_ready_is_said_to_be_starting() -> None:
    why = explain(running(41, flags=("CONFIGURING",)), facts())

    assert why.kind is Kind.PROLOG
    assert "being started" in why.summary


def test_a_job_that_has_ended_is_said_to_have_ended() -> None:
    over = a_job(41, state=JobState.OUT_OF_MEMORY, started_at=NOON, ended_at=NOW, nodes="w1")

    why = explain(over, facts())

    assert why.kind is Kind.ENDED
    assert "out of memory" in why.summary


def test_a_node_too_small_is_not_called_busy() -> None:
    small = Seen((replace(NODE, cpus=2, cpus_used=0),), NOW)

    why = explain(waiting("Resources", cpus=60), facts(nodes=small))

    assert why.kind is Kind.NEVER
    assert "the largest, w1, has 2 CPUs" in why.summary


def test_maintenance_is_what_it_waits_for_though_more_workers_would_help_too() -> None:
    (reserved,) = [each for each in SITUATIONS if each.name == "others have reserved the nodes"]
    full = planned(Wait(cause=Cause.MAX_WORKERS, shape="general-large", workers=1))

    why = explain(reserved.job, facts(**reserved.facts, planned=full))

    assert why.kind is Kind.RESERVATION


def test_a_fleet_with_room_leaves_the_answer_to_the_nodes() -> None:
    drained = Seen((replace(NODE, flags=("DRAIN",), reason="disk broke"),), NOW)
    room = planned(Wait(cause=Cause.ROOM, sentence="1 job has room"))

    why = explain(waiting("Resources"), facts(nodes=drained, planned=room))

    assert why.kind is Kind.NODE
    assert "disk broke" in why.summary


@pytest.mark.parametrize(("most", "kind"), [(1, Kind.PARTITION), (2, Kind.MAX_WORKERS)])
def test_a_rule_that_it_breaks_comes_before_workers_that_are_missing(most: int, kind: Kind) -> None:
    """Slurm says PartitionConfig both of a rule that is broken and of nodes that are not there."""
    full = planned(Wait(cause=Cause.MAX_WORKERS, shape="general-large", workers=2))
    job = waiting("PartitionConfig", nodes_wanted=2)

    why = explain(job, facts(**rules(max_nodes=most), planned=full))

    assert why.kind is kind
