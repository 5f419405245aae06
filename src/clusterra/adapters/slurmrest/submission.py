"""What slurmrestd says to a submission, told as it is.

A reply that names a job is an accepted job whatever its status: one unreadable
flag makes it a 500 with an error inside, and the job is in the queue.
"""

import re

import msgspec

from clusterra.adapters.slurmrest.client import Reply
from clusterra.adapters.slurmrest.conversation import complaints
from clusterra.adapters.slurmrest.decode import Amount, Envelope, read, whole
from clusterra.core.jobs.request import Accepted

_PREAMBLE = "Job submission resulted in non-zero return code: "
_PARSER = re.compile(r" of type .* in DATA_PARSER_\w+$")
_FIELD = re.compile(r"#/job/(\w+)")


class SubmitReply(Envelope, frozen=True):
    job_id: Amount = None
    job_submit_user_msg: str | None = None


def read_submission(reply: Reply) -> SubmitReply:
    """Read the reply; one that is not JSON, or not readable, names no job."""
    try:
        return read(reply.body, SubmitReply) if reply.json else SubmitReply()
    except msgspec.DecodeError:
        return SubmitReply()


def accepted(reply: SubmitReply) -> Accepted | None:
    """Return the job Slurm took, with its remarks; None if it took none."""
    job_id = whole(reply.job_id)
    if not job_id:
        return None
    remarks = [
        _remark(str(each.get("description") or ""), str(each.get("source") or ""))
        for each in reply.warnings or ()
    ]
    remarks += [_remark(each.description, each.source) for each in complaints(reply)]
    remarks.append(reply.job_submit_user_msg or "")
    return Accepted(job_id=job_id, warnings=tuple(dict.fromkeys(filter(None, remarks))))


def _remark(description: str, source: str) -> str:
    text = _PARSER.sub("", description.removeprefix(_PREAMBLE))
    field = _FIELD.match(source)
    return f"{text} ({field[1]})" if field and field[1] not in text else text
