"""Write docs/reference/hostile-endpoints.md, out of cases that are really played.

`python -m tests.adapters.sender.report`
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from clusterra.core.webhooks.exchange import Failure
from tests.adapters.sender.acts import TIMEOUT
from tests.adapters.sender.cases import BOUND, GROUPS, Outcome, play_all
from tests.adapters.sender.recorder import Recorder, sending, to
from tests.adapters.sender.spellings import ADDRESSES, HOSTS, in_url, kind

PAGE = Path(__file__).parents[3] / "docs/reference/hostile-endpoints.md"
NAME = "hook.lab.example"

BEGINNING = f"""\
# Hostile endpoints

Whoever makes a webhook chooses whom this server talks to. This page says what endpoints may do to it, and
what comes of it. It is made by playing every case, with a time of {TIMEOUT:g} s for a delivery where
the settings say 15 s; a test plays them again and compares.

In every case the delivery ended in its time, the far side got rid of no more than {BOUND // 1024} kB (what
is read, and what two kernels hold), and nothing was raised. The status is the answer: what is wrong
with what follows it does not matter. Bodies are never unpacked.
"""

ADDRESSES_BEGIN = """\
## Addresses

Each was the host of a URL, and then what a name led to. None was dialled: no socket was opened and
no byte sent. One such answer among good ones is enough to refuse a name. The kind is for our own
logs; whoever made the endpoint reads only that the address is not public.

| address | kind | dialled |
|---|---|---|
"""

HOSTS_BEGIN = """\
## Spellings of hosts

Each was the host of a URL. None was dialled or looked up.

| host | verdict | dialled |
|---|---|---|
"""


def page(outcomes: Mapping[str, Outcome]) -> str:
    parts = [BEGINNING]
    for group, cases in GROUPS.items():
        rows = "".join(_row(case.name, outcomes[case.name]) for case in cases)
        parts.append(f"## {group}\n\n| the endpoint | comes to | requests |\n|---|---|---|\n{rows}")
    return "\n".join([*parts, *asyncio.run(_network())])


def _row(name: str, outcome: Outcome) -> str:
    answer = outcome.answer
    failure = "" if answer.failure is None else f"`{answer.failure}`: {answer.why}"
    told = f"status {answer.status}" if answer.status is not None else failure
    return f"| {name} | {told} | {outcome.requests} |\n"


async def _network() -> list[str]:
    recorder = Recorder()
    async with sending(recorder) as sender:
        addresses = []
        for address in ADDRESSES:
            recorder.names[NAME] = [address]
            for url in (in_url(address), f"https://{NAME}/hook"):
                assert (await sender.send(to(url))).failure is Failure.BLOCKED
            addresses.append(f"| `{address}` | {kind(address)} | {len(recorder.dialled)} |\n")
        hosts = []
        for host in HOSTS:
            answer = await sender.send(to(f"https://{host}/hook"))
            shown = host.replace("\r", "␍").replace("\n", "␊").replace("\t", "␉")
            hosts.append(f"| `{shown}` | `{answer.failure}` | {len(recorder.dialled)} |\n")
    return [ADDRESSES_BEGIN + "".join(addresses), HOSTS_BEGIN + "".join(hosts)]


if __name__ == "__main__":
    PAGE.write_text(page(asyncio.run(play_all())))
