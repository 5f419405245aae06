"""What the server counts about itself, in Prometheus' text format."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Labels = tuple[tuple[str, str], ...]
Sample = tuple[str, Labels, float]


@dataclass(slots=True)
class RequestMetrics:
    """Requests by route, method and status, and how long they took."""

    _count: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    _seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    _buckets: defaultdict[str, list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0] * (len(BUCKETS) + 1))
    )

    def note(self, route: str, method: str, status: int, seconds: float) -> None:
        self._count[route, method, status] += 1
        self._seconds[route] += seconds
        self._buckets[route][bisect_left(BUCKETS, seconds)] += 1

    def lines(self) -> Iterator[str]:
        yield from family(
            "clusterra_requests_total",
            "counter",
            "Requests answered.",
            (
                ("", (("route", route), ("method", method), ("status", str(status))), number)
                for (route, method, status), number in self._count.items()
            ),
        )
        yield from family(
            "clusterra_request_seconds",
            "histogram",
            "Time to answer a request.",
            self._histogram(),
        )

    def _histogram(self) -> Iterator[Sample]:
        for route, counts in self._buckets.items():
            total = 0
            for bound, number in zip((*BUCKETS, "+Inf"), counts, strict=True):
                total += number
                yield "_bucket", (("route", route), ("le", str(bound))), total
            yield "_sum", (("route", route),), self._seconds[route]
            yield "_count", (("route", route),), total


def family(name: str, kind: str, help: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"
    for suffix, labels, value in samples:
        inner = ",".join(f'{key}="{_escape(text)}"' for key, text in labels)
        yield f"{name}{suffix}{{{inner}}} {value:g}" if inner else f"{name}{suffix} {value:g}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
