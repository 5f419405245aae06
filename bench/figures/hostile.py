"""What endpoints can do to whoever delivers to them: be dialled where they must not, take memory."""

import asyncio
from collections.abc import Iterator

from bench.figure import Goal, Row
from bench.processes import asked, scratch
from bench.stage import Stage
from tests.adapters.sender.recorder import Recorder, sending, to
from tests.adapters.sender.spellings import ADDRESSES, HOSTS, in_url

NAME = "hook.lab.example"
MOST = 2
"""Megabytes."""


def addresses(_: Stage) -> Iterator[Row]:
    tried, dialled = asyncio.run(_dial_all())
    yield Row(
        name="hostile-addresses",
        what="addresses that must not be reached, and were dialled",
        ours=dialled,
        unit="dialled",
        beside=tried,
        beside_what="deliveries to them: as addresses in URLs, as answers of name servers, spelled oddly",
        goal=Goal(bound=0),
    )


async def _dial_all() -> tuple[int, int]:
    recorder = Recorder()
    tried = 0
    async with sending(recorder) as sender:
        for address in ADDRESSES:
            recorder.names[NAME] = [address]
            for url in (in_url(address), f"https://{NAME}/hook"):
                await sender.send(to(url))
                tried += 1
        for host in HOSTS:
            await sender.send(to(f"https://{host}/hook"))
            tried += 1
    return tried, len(recorder.dialled)


def memory(_: Stage) -> Iterator[Row]:
    with scratch() as place, asked("bench.hostile", "places") as places:
        trusted = place / "authorities.pem"
        trusted.write_text(places.begun["authorities"])
        with asked("bench.hostile", "sender", "--authorities", str(trusted)) as sender:
            well = places.ask(case=0)["url"]
            sender.ask(url=well)  # modules that the first delivery loads are nobody's doing
            usual = sender.ask(url=well)["grown"]
            grown = [
                sender.ask(url=places.ask(case=number)["url"])["grown"]
                for number in range(places.begun["cases"])
            ]
    yield Row(
        name="hostile-memory",
        what=f"most memory that a hostile delivery took, over {len(grown)} cases",
        ours=max(grown) / 1e6,
        unit="MB",
        beside=usual / 1e6,
        beside_what="a delivery that is answered well",
        goal=Goal(bound=MOST),
    )
