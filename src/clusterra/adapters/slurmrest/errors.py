"""What slurmrestd's error numbers mean, in our words, with the next step.

slurmrestd says what went wrong with an error number inside the reply; the HTTP
status is no guide (the same refusal is 422 from 26.05 and 500 from 24.11, and a
cancel that failed is 200). So errors are understood by the number, and the status is
read only where a reply is plain text. What each number means is in `meanings`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from clusterra.adapters.slurmrest.meanings import CONTROLLER, KEY, MEANINGS, OF_NODES, REJECTED
from clusterra.core.errors import ClusterraError, Invalid, Refused, Unanswered, Unreachable


class Act(Enum):
    """What was being done, where the same number means different things."""

    READ = auto()
    SUBMIT = auto()
    CHANGE = auto()
    NODE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One error as slurmrestd wrote it."""

    number: int
    error: str = ""
    description: str = ""
    source: str = ""


_UNEXPLAINED = -1
"""Slurm's "Unspecified error"."""

_LOST_ON_THE_WAY = frozenset({1002, 1003, 1004, 1801, 1802, 1803, 5003, 5004, 5005})
"""Failures after the controller may have heard the request."""

_FIELD = re.compile(r"#/(?:job/|jobs/\d+/)?([A-Za-z_]+)")


def explain(complaint: Complaint, act: Act, asked: Mapping[str, object]) -> ClusterraError:
    """Turn slurmrestd's complaint into one of our errors."""
    number = complaint.number
    if 9200 <= number < 9300 and number not in MEANINGS:
        return _unreadable(complaint)
    if number == _UNEXPLAINED:
        # Reads answer -1 when slurmctld is down (states, one job); acts when a plugin said no.
        meaning = CONTROLLER if act is Act.READ else REJECTED
    elif act is Act.NODE and number in OF_NODES:
        meaning = OF_NODES[number]
    elif number in MEANINGS:
        meaning = MEANINGS[number]
    else:
        return Refused(
            f"Slurm refused: {complaint.error or complaint.description} (error {number}).",
            hint="An admin will find more in slurmctld's log.",
            code=f"slurm-{number}",
        )
    if act is Act.SUBMIT and number in _LOST_ON_THE_WAY:
        return Unanswered(
            "slurmctld went silent while it was being handed the job.",
            hint="Look for the job before submitting it again.",
        )
    words = _Words({**asked, "description": complaint.description})
    return meaning.kind(
        meaning.detail.format_map(words), hint=meaning.hint, code=meaning.code, at=meaning.at
    )


def explain_text(status: int, text: str, user: str) -> ClusterraError:
    """Turn a plain-text reply into one of our errors."""
    if status in (401, 403, 511):
        return KEY.kind(KEY.detail.format(user=user), hint=KEY.hint, code=KEY.code)
    if status in (502, 503, 504):
        return Unreachable(
            f"What stands before slurmrestd answers {status}.",
            hint="Check that slurmrestd is running behind it.",
        )
    if status == 400:
        return Invalid(
            "slurmrestd could not read the request.",
            hint="A value in it has a form Slurm does not know.",
            code="unreadable",
        )
    return Refused(
        f"slurmrestd answers {status}: {' '.join(text.split())[:200]}",
        hint="Check that the address is that of a slurmrestd.",
        code="unexpected-reply",
    )


def _unreadable(complaint: Complaint) -> Invalid:
    found = _FIELD.match(complaint.source)
    field = found[1] if found else ""
    about = f"the field {field}" if field else "the request"
    return Invalid(
        f"Slurm cannot read {about}: {complaint.description or complaint.error}.",
        hint="Give it in the form Slurm's REST reference states.",
        code="unreadable",
        at=field,
    )


class _Words(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "(none given)"
