"""`clusterra jobs resubmit`: the same job again, with more of what it ran out of."""

from collections.abc import Iterator
from typing import Any

import click

from clusterra.cli.jobs.naming import complete
from clusterra.cli.jobs.submit import hand_over
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.core.errors import Refused
from clusterra.core.jobs.pending.words import memory as memory_words
from clusterra.core.jobs.pending.words import minutes
from clusterra.core.units import parse_memory_mib, parse_time_limit
from clusterra.wire.diagnosis import DiagnosisView

_PER = ("memory_per_cpu", "memory_per_tres")


@click.command()
@server_options
@click.argument("job_id", metavar="JOB", shell_complete=complete)
@click.option("--memory", "--mem", metavar="SIZE", help="Memory on each node: 12G, 512M.")
@click.option("--time", "-t", metavar="TIME", help="Time limit: 90, 2h30m, 1:30:00, 2-12.")
@click.option("--as-is", is_flag=True, help="Change nothing but what is asked for here.")
@click.option("--wait", is_flag=True, help="Wait for its end, show its output, exit with its code.")
@json_option
@pass_session
def resubmit(
    session: Session,
    *,
    job_id: str,
    memory: str | None,
    time: str | None,
    as_is: bool,
    wait: bool,
    as_json: bool,
) -> None:
    """Submit a job again that has ended, with what would let it succeed.

    After running out of memory it asks for half as much again, after reaching its time limit
    for twice the time; otherwise it is submitted as it was.
    """
    found = session.client.diagnosis(session.cluster_id(), job_id, as_is=as_is)
    if found.resubmit is None:
        raise Refused(
            f"Job {found.label} cannot be submitted again from here. {found.why_not}",
            hint=_instead(found),
            code="cannot-resubmit",
        )
    body = found.resubmit.body
    given = dict(_given(body["job"], memory, time))
    changes = [
        *(
            each
            for each in found.resubmit.changes
            if each.partition(":")[0].split()[0] not in given
        ),
        *given.values(),
    ]
    what = f"Changed: {'; '.join(changes)}" if changes else "Nothing is changed."
    say(tame(what), error=as_json)
    hand_over(session, body, key=None, wait=wait, as_json=as_json)


def _given(job: dict[str, Any], memory: str | None, time: str | None) -> Iterator[tuple[str, str]]:
    """Set what was asked for on the command line; yield which, and words for it."""
    if memory:
        mib = parse_memory_mib(memory, at="--memory")
        for other in _PER:
            job.pop(other, None)
        job["memory_per_node"] = {"set": True, "number": mib}
        yield "memory", f"memory: {memory_words(mib)}"
    if time:
        limit = parse_time_limit(time, at="--time")
        job["time_limit"] = (
            {"set": True, "infinite": True} if limit is None else {"set": True, "number": limit}
        )
        yield "time", f"time limit: {'none' if limit is None else minutes(limit)}"


def _instead(found: DiagnosisView) -> str:
    if found.state in {"PENDING", "RUNNING", "SUSPENDED"}:
        return f"Watch it: clusterra jobs watch {found.label}"
    return f"Put it back into the queue as it is: clusterra jobs requeue {found.label}"
