"""What jobs have written, over HTTP: whole, in part, searched, and as it is written."""

import asyncio
import random
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clusterra.api import body, problems
from clusterra.api.admit import Guarded, caller_of, guest_of, in_workspace
from clusterra.api.asked import last_event_id
from clusterra.api.door import plane_of
from clusterra.api.output_reply import BYTES, TYPE, FileReply, LiveReply, Part
from clusterra.api.sse import EVENTS, HEARTBEAT, LIFETIME, Stream, gone
from clusterra.control.find import find_job
from clusterra.control.output.follow import Beginning
from clusterra.control.output.lines import start_of_lines
from clusterra.control.output.search import search
from clusterra.control.site import Site
from clusterra.core.access import Deed, check_may_read_output
from clusterra.core.byte_range import byte_range
from clusterra.core.errors import Invalid, NotFound
from clusterra.core.events.frames import TYPE as EVENT_STREAM
from clusterra.core.jobs.job import Job
from clusterra.ports import Log
from clusterra.wire.output import OutputMatch, OutputMatches

router = APIRouter(
    prefix="/v1/clusters/{cluster}/jobs/{job_id}/output", tags=["jobs"], route_class=Guarded
)

Which = Annotated[str, Query(pattern="^(stdout|stderr)$")]
Tail = Annotated[int | None, Query(ge=1, description="Only so many bytes from the end.")]
Lines = Annotated[int | None, Query(ge=1, le=1_000_000, description="Only the last so many lines.")]

MOST_MATCHES = 10_000
LONGEST_SEARCH = 1000


@router.get(
    "",
    response_class=Response,
    responses={
        200: {
            "description": "The bytes of the file; with `grep`, the lines found.",
            "content": {TYPE: {"schema": {"type": "string", "format": "binary"}}},
            "model": OutputMatches,
        },
        206: {"description": "The range that was asked for."},
        416: {"description": "The file has nothing of that range."},
    },
)
async def output(
    request: Request,
    cluster: str,
    job_id: str,
    tail: Tail = None,
    lines: Lines = None,
    stream: Which = "stdout",
    grep: Annotated[
        str | None,
        Query(max_length=LONGEST_SEARCH, description="Only the lines that contain this text."),
    ] = None,
    ignore_case: Annotated[bool, Query(description="Of ASCII letters, with `grep`.")] = False,
    limit: Annotated[int, Query(ge=1, le=MOST_MATCHES, description="With `grep`.")] = 100,
) -> Response:
    """Return what the job has written so far, however long it is.

    Takes one range (`Range: bytes=0-99`, `bytes=100-`, `bytes=-100`), which counts before `tail`
    and `lines`. `content-range` says which bytes these are in any case. With `grep` the answer is
    JSON: each line that contains the text, with its number and the bytes at which it begins.
    """
    site, job = await _job(request, cluster, job_id)
    log = await site.logs.open(job, stream=stream)
    if log is None:
        raise _nothing_yet(job, stream)
    try:
        if grep is not None:
            return await _found(request, log, grep, ignore_case=ignore_case, limit=limit)
        part = await _part(request, log, tail=tail, lines=lines)
    except BaseException:
        log.close()
        raise
    if part is None:
        log.close()
        return _unsatisfiable(log.size)
    return FileReply(log, part)


@router.get(
    "/stream",
    response_class=Response,
    responses={
        200: {
            "description": "Server-Sent Events, until the job is over and all of it was sent.",
            "content": {
                EVENT_STREAM: {"schema": {"type": "string"}},
                TYPE: {"schema": {"type": "string", "format": "binary"}},
            },
        }
    },
)
async def follow_output(
    request: Request,
    cluster: str,
    job_id: str,
    from_: Annotated[int, Query(alias="from", ge=0, description="Begin at this byte.")] = 0,
    tail: Tail = None,
    lines: Lines = None,
    stream: Which = "stdout",
) -> Response:
    """Follow what a job writes, from any byte, until it is over.

    `id` is the place in the file after the piece: with it as `Last-Event-ID`, which counts before
    the rest, a client that was cut off misses nothing and gets nothing twice. `data` is one line of
    JSON. `output` brings `{"offset", "text"}`, or `{"offset", "base64"}` where the bytes are no
    UTF-8; `reset` says that the file begins again at 0, and the `reason`; `waiting` that there is no
    file yet; `end` the final `size` and the job's `state`. It ends as soon as the caller may no
    longer read it, and after about an hour in any case.

    With `Accept: text/plain` it is the bytes as they are written, and nothing else.
    """
    plain = "text/plain" in request.headers.get("accept", "")
    plane, guest, caller = plane_of(request), guest_of(request), caller_of(request)
    site, job = await _job(request, cluster, job_id)
    came_back = last_event_id(request.headers.get("last-event-id", ""))
    if came_back is None:
        beginning = Beginning(at=from_, tail=tail, lines=lines)
    else:
        beginning = Beginning(at=came_back)

    def allowed() -> bool:
        if not guest.is_still_in(plane.people):
            return False
        return in_workspace(guest, plane, Deed.READ_OUTPUT, cluster=cluster) == caller

    reader = await plane.output.begin(
        site, job_id, job, stream=stream, beginning=beginning, allowed=allowed, plain=plain
    )
    return LiveReply(
        Stream(
            reader,
            at_the_present=not plain,
            check=allowed,
            heartbeat=HEARTBEAT,
            lifetime=LIFETIME * random.uniform(0.9, 1.1),  # noqa: S311 - no secret
            manner=BYTES if plain else EVENTS,
        )
    )


async def _job(request: Request, cluster: str, job_id: str) -> tuple[Site, Job]:
    plane, caller = plane_of(request), caller_of(request)
    site = plane.site(cluster)
    job = await find_job(site, job_id, caller, store=plane.store)
    check_may_read_output(caller, job)
    return site, job


async def _part(request: Request, log: Log, *, tail: int | None, lines: int | None) -> Part | None:
    """Return which bytes are asked for; None if the file has none of them."""
    size = log.size
    if asked := byte_range(request.headers.get("range", "")):
        found = asked.within(size)
        return found and Part(start=found[0], stop=found[1], size=size, is_range=True)
    start = 0
    if lines is not None:
        start = await start_of_lines(log, size, lines)
    elif tail is not None:
        start = max(size - tail, 0)
    return Part(start=start, stop=size, size=size)


async def _found(
    request: Request, log: Log, text: str, *, ignore_case: bool, limit: int
) -> Response:
    if not text or "\n" in text:
        raise Invalid(
            "What is looked for is a piece of one line.",
            hint="Leave `grep` out for all of it.",
            at="grep",
        )
    searching = asyncio.create_task(
        search(log, text.encode(), ignore_case=ignore_case, limit=limit)
    )
    leaving = asyncio.create_task(gone(request.receive))
    try:
        await asyncio.wait((searching, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not searching.done():
            return Response(status_code=499)  # nobody is there to read it
        found = searching.result()
    finally:
        leaving.cancel()
        searching.cancel()
        await asyncio.gather(searching, leaving, return_exceptions=True)
        log.close()
    matches = [
        OutputMatch(
            line=each.line,
            offset=each.offset,
            at=each.at,
            text=each.text.decode(errors="replace"),
            cut=each.cut,
        )
        for each in found
    ]
    return body.json(OutputMatches(matches=matches, more=len(found) == limit, size=log.size))


def _nothing_yet(job: Job, stream: str) -> NotFound:
    path = (job.stderr if stream == "stderr" else "") or job.stdout or "its output"
    return NotFound(
        f"Job {job.label} has written nothing to {path} yet.",
        hint="It is there as soon as the job has started.",
        code="no-output",
    )


def _unsatisfiable(size: int) -> Response:
    refusal = Invalid(
        f"The output has {size:,} bytes, and nothing of the range that was asked for.",
        hint="Ask for bytes that it has, or follow it: …/output/stream?from=N.",
        code="range-not-satisfiable",
        at="Range",
    )
    answer = problems.respond(refusal, 416)
    answer.headers["content-range"] = f"bytes */{size}"
    return answer
