"""How quickly, and how cheaply, what has happened reaches whoever has a webhook.

What delivers is the real control plane without its door (`bench.office`); who receives is a
bare protocol in a process of its own (`bench.receiver`). Beside it a bare aiohttp session posts
the same bodies (`bench.posting`), in turns.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from statistics import median

from bench.figure import Goal, Row
from bench.keepalive import KeepAlive
from bench.processes import Asked, asked, scratch, until
from bench.stage import Stage
from bench.timing import percentile

ROUNDS = 3
EVENTS, EVERY = 250, 0.02
"""Fifty a second, each in a commit of its own."""

AT_ONCE = 32
BURST = 10_000
CPU, CPU_ROUNDS = 500, 40
"""Short turns, so that many of them have the machine to themselves."""

ENDPOINTS = 20
FEW, SLOWLY = 50, 0.1
"""Ten a second for twenty endpoints: two hundred deliveries a second."""

Late = list[float]
"""Milliseconds between before and arrival."""


class Receiver:
    def __init__(self, port: int) -> None:
        self._client = KeepAlive(f"http://127.0.0.1:{port}")
        self.hang = f"http://127.0.0.1:{port}/hang"
        self.hooks = [f"http://127.0.0.1:{port}/hook/{number}" for number in range(ENDPOINTS)]

    def late(self, before: Mapping[str, float], hooks: int = 1) -> Late:
        """Wait until all of it has arrived at so many hooks, and say how late each came."""
        until(lambda: int(self._client.get("/count").body) >= len(before) * hooks, every=0.05)
        arrived = json.loads(self._client.get("/arrivals").body)
        return [(at - before[id]) * 1e3 for hook in arrived.values() for id, at in hook.items()]


@contextmanager
def receiving() -> Iterator[Receiver]:
    with asked("bench.receiver") as child:
        yield Receiver(child.begun)


@contextmanager
def office(*urls: str) -> Iterator[Asked]:
    with scratch() as state, asked("bench.office", "--state", str(state), *urls) as child:
        yield child


def latency(_: Stage) -> Iterator[Row]:
    with (
        receiving() as receiver,
        office(receiver.hooks[0]) as plane,
        asked("bench.posting", receiver.hooks[0]) as client,
    ):
        turns = [_paced(receiver, plane, client) for _round in range(1 + ROUNDS)][1:]
    ours, beside = ([each for turn in turns for each in turn[who]] for who in (0, 1))
    for name, percent, bound in (("deliver-latency", 50, 50), ("deliver-latency-p99", 99, 250)):
        yield Row(
            name=name,
            what=f"p{percent} from before an event's commit to its arrival, {1 / EVERY:.0f} events/s",
            ours=percentile(ours, percent),
            unit="ms",
            beside=percentile(beside, percent),
            beside_what="the same body posted with a bare aiohttp session, and nothing kept",
            goal=Goal(bound=bound),
        )


def _paced(receiver: Receiver, plane: Asked, client: Asked) -> tuple[Late, Late]:
    ours = receiver.late(plane.ask(number=EVENTS, every=EVERY)["committed"])
    beside = receiver.late(client.ask(who="bare", number=EVENTS, every=EVERY)["posted"])
    return ours, beside


def cpu(_: Stage) -> Iterator[Row]:
    with receiving() as receiver, asked("bench.posting", receiver.hooks[0]) as client:

        def turn(who: str) -> float:
            done = client.ask(who=who, number=CPU, at_once=AT_ONCE)
            receiver.late(done["posted"])
            return float(done["cpu"]) / CPU * 1e6

        turns = [(turn("ours"), turn("bare")) for _round in range(CPU_ROUNDS)]
    # Whatever else the machine did has made turns slower, and none of them quicker.
    ours, beside = (percentile([each[who] for each in turns], 10) for who in (0, 1))
    yield Row(
        name="deliver-cpu",
        what=f"processor time of a delivery, signed and sent, {AT_ONCE} at once; without the database",
        ours=ours,
        unit="µs",
        beside=beside,
        beside_what="the same body, signed before, posted with a bare aiohttp session",
        goal=Goal(bound=1.5, of_ratio=True),
    )


def hanging(_: Stage) -> Iterator[Row]:
    with (
        receiving() as receiver,
        office(*receiver.hooks[1:], receiver.hang) as one_hangs,
        office(*receiver.hooks) as none_hangs,
    ):

        def turn(plane: Asked, hooks: int) -> float:
            committed = plane.ask(number=FEW, every=SLOWLY)["committed"]
            return percentile(receiver.late(committed, hooks), 99)

        turns = [
            (turn(one_hangs, ENDPOINTS - 1), turn(none_hangs, ENDPOINTS))
            for _round in range(1 + ROUNDS)
        ][1:]
    yield Row(
        name="deliver-hanging",
        what=f"p99 of {ENDPOINTS - 1} endpoints beside one that never answers, {1 / SLOWLY:.0f} events/s",
        ours=median(ours for ours, _ in turns),
        unit="ms",
        beside=median(without for _, without in turns),
        beside_what=f"p99 of {ENDPOINTS} that all answer",
        goal=Goal(bound=3, of_ratio=True),
    )


def burst(_: Stage) -> Iterator[Row]:
    with (
        receiving() as receiver,
        office(receiver.hooks[0]) as plane,
        asked("bench.posting", receiver.hooks[0]) as client,
    ):
        ours, beside = [], []
        for _round in range(ROUNDS):
            ours.append(max(receiver.late(plane.ask(number=BURST, every=0)["committed"])) / 1e3)
            done = client.ask(who="bare", number=BURST, at_once=AT_ONCE)
            receiver.late(done["posted"])
            beside.append(float(done["seconds"]))
    yield Row(
        name="deliver-burst",
        what=f"{BURST:,} events, an array that starts, until the last has reached an endpoint",
        ours=median(ours),
        unit="s",
        beside=median(beside),
        beside_what=f"the same bodies posted with a bare aiohttp session, {AT_ONCE} at once",
        goal=Goal(bound=5),
    )
