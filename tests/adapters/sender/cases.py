"""What endpoints may do to us, and what comes of it: played for real, each within two seconds."""

import asyncio
from dataclasses import dataclass, replace
from time import perf_counter

from clusterra.adapters.sender import HttpSender
from clusterra.core.webhooks.endpoint import Reach
from clusterra.core.webhooks.exchange import Answer, Outgoing
from tests.adapters.sender import certificates
from tests.adapters.sender.acts import TIMEOUT, Case
from tests.adapters.sender.endpoint_cases import ENDPOINTS, REDIRECTS, STATUSES
from tests.adapters.sender.tls_cases import CERTIFICATES

BOUND = 524_288
"""Most bytes of an answer that may be taken: what is read, and what two kernels hold."""

AT_ONCE = 12
NAME = certificates.NAME
BODY = b'{"specversion":"1.0","id":"evt_01","type":"job.failed"}'

GROUPS = {
    "Endpoints": ENDPOINTS,
    "Redirects": REDIRECTS,
    "Statuses": STATUSES,
    "TLS": CERTIFICATES,
}
CASES = tuple(case for group in GROUPS.values() for case in group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    answer: Answer
    took: float
    given: int
    requests: int


async def everything_is_here(host: str) -> list[str]:
    return ["127.0.0.1"]


async def play(case: Case, sender: HttpSender) -> Outcome:
    async with case.place() as place:
        url = f"{'https' if case.secure else 'http'}://{NAME}:{place.port}/hook"
        headers = {"content-type": "application/cloudevents+json"}
        began = perf_counter()
        said = await sender.send(Outgoing(url=url, body=BODY, headers=headers, reach=Reach.PRIVATE))
        took = perf_counter() - began
        # Where nobody listens differs from run to run.
        said = replace(said, why=said.why.replace(f"port {place.port}", "port PORT"))
        return Outcome(answer=said, took=took, given=place.given, requests=len(place.requests))


async def play_all() -> dict[str, Outcome]:
    """Play every case against one sender, which has to survive them all."""
    places = asyncio.Semaphore(AT_ONCE)
    sender = HttpSender(
        timeout_seconds=TIMEOUT,
        authorities=certificates.root().pem.decode(),
        lookup=everything_is_here,
    )

    async def one(case: Case) -> tuple[str, Outcome]:
        async with places:
            return case.name, await play(case, sender)

    try:
        return dict(await asyncio.gather(*(one(case) for case in CASES)))
    finally:
        await sender.close()
