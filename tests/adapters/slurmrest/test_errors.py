"""What slurmrestd complains about, told as one of our errors with a next step."""

import pytest

from clusterra.adapters.slurmrest.conversation import complaints
from clusterra.adapters.slurmrest.decode import Envelope, read
from clusterra.adapters.slurmrest.errors import Act, Complaint, explain, explain_text
from clusterra.adapters.slurmrest.meanings import MEANINGS
from clusterra.core.errors import (
    ClusterraError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Refused,
    TooLarge,
    Unanswered,
    Unreachable,
)
from tests.adapters.slurmrest.replay import NEWEST, recording

ASKED = {
    "user": "ana",
    "job": 41,
    "partition": "gpuu",
    "account": "lab",
    "qos": "gold",
    "array": "0-999999",
    "constraints": "a100",
    "dependency": "afterok:7",
}

REFUSED: list[tuple[str, type[ClusterraError], str, str]] = [
    ("submit-account", Refused, "no-association", "lab"),
    ("submit-array", Invalid, "array", "0-999999"),
    ("submit-deadline", Refused, "time-limit", "longer"),
    ("submit-dependency", Invalid, "dependency", "afterok:7"),
    ("submit-feature", Refused, "unknown-feature", "a100"),
    ("submit-gres", Refused, "unknown-gres", "GPU"),
    ("submit-licence", Refused, "unknown-licence", ""),
    ("submit-list", Invalid, "unreadable", "dictionary"),
    ("submit-long-comment", TooLarge, "text-too-long", "comment"),
    ("submit-memory", Refused, "no-such-nodes", ""),
    ("submit-no-cwd", Invalid, "no-work-dir", ""),
    ("submit-no-script", Invalid, "incomplete", "script"),
    ("submit-node", Refused, "unknown-node", ""),
    ("submit-nodes", Invalid, "counts", ""),
    ("submit-other-user", Forbidden, "not-your-job", "ana"),
    ("submit-partition", Refused, "unknown-partition", "gpuu"),
    ("submit-qos", Refused, "unknown-qos", "gold"),
    ("submit-reservation", Refused, "reservation", ""),
    ("submit-type", Invalid, "unreadable", "time_limit"),
    ("edit-ended", Conflict, "job-ended", "41"),
    ("edit-foreign", Forbidden, "not-your-job", "ana"),
    ("edit-held-priority", Conflict, "job-held", "41"),
    ("edit-priority", Forbidden, "not-your-job", "ana"),
    ("edit-unknown", NotFound, "unknown-job", "41"),
    ("bad-token", Refused, "slurm-rejects-key", "ana"),
]


def told(release: str, version: str, name: str) -> ClusterraError:
    (complaint,) = complaints(read(recording(release, version, name).body, Envelope))
    return explain(complaint, Act.SUBMIT if name.startswith("submit") else Act.CHANGE, ASKED)


@pytest.mark.parametrize(("release", "version"), NEWEST)
@pytest.mark.parametrize(("name", "kind", "code", "says"), REFUSED)
def test_a_refusal_is_the_same_whichever_slurm_refuses(
    name: str, kind: type[ClusterraError], code: str, says: str, release: str, version: str
) -> None:
    error = told(release, version, name)

    assert type(error) is kind
    assert error.code == code
    assert says in error.detail
    assert error.hint


def test_a_job_without_environment_is_refused_by_both_in_their_own_words() -> None:
    assert told("26.05", "v0.0.45", "submit-no-environment").code == "no-environment"
    assert told("24.11", "v0.0.42", "submit-no-environment").at == "environment"


def test_a_user_the_controller_does_not_know_is_told_where_to_exist() -> None:
    newer = told("26.05", "v0.0.45", "submit-ghost")
    older = told("24.11", "v0.0.42", "submit-ghost")  # it only says: no association

    assert newer.code == "unknown-linux-user"
    assert "Linux user" in newer.detail
    assert "Linux user" in older.hint


@pytest.mark.parametrize("number", sorted(MEANINGS))
def test_every_meaning_is_a_sentence_with_a_next_step(number: int) -> None:
    error = explain(Complaint(number=number, description="it"), Act.CHANGE, {})

    assert error.detail.endswith(".")
    assert error.hint.endswith(".")
    assert "{" not in error.detail


@pytest.mark.parametrize("number", [1800, 1802, 5004, 1, 1000, 2027])
def test_a_silent_controller_is_unreachable_and_never_a_refusal(number: int) -> None:
    error = explain(Complaint(number=number), Act.READ, {})

    assert isinstance(error, Unreachable)
    assert error.code == "controller-unreachable"


def test_a_submission_lost_on_the_way_may_have_arrived_and_one_never_sent_has_not() -> None:
    assert isinstance(explain(Complaint(number=1802), Act.SUBMIT, {}), Unanswered)
    assert type(explain(Complaint(number=1800), Act.SUBMIT, {})) is Unreachable


def test_the_unspecified_error_means_a_silent_controller_to_readers_and_site_rules_to_the_rest() -> (
    None
):
    reading = explain(Complaint(number=-1, source="slurm_load_job_state()"), Act.READ, {})
    submitting = explain(Complaint(number=-1, source="slurm_submit_batch_job()"), Act.SUBMIT, {})

    assert isinstance(reading, Unreachable)
    assert (type(submitting), submitting.code) == (Refused, "rejected-by-site")


def test_an_unheard_of_number_keeps_slurms_own_words() -> None:
    error = explain(Complaint(number=2999, error="The moon is full"), Act.SUBMIT, {})

    assert (type(error), error.code) == (Refused, "slurm-2999")
    assert "The moon is full" in error.detail


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (401, Refused, "slurm-rejects-key"),
        (511, Refused, "slurm-rejects-key"),
        (502, Unreachable, "unreachable"),
        (400, Invalid, "unreadable"),
        (418, Refused, "unexpected-reply"),
    ],
)
def test_plain_text_is_understood_by_its_status(
    status: int, kind: type[ClusterraError], code: str
) -> None:
    error = explain_text(status, "short and stout", "ana")

    assert (type(error), error.code) == (kind, code)
