"""A mark per job that changes when its state does: the cheapest look at a queue there is.

The marks of fifty thousand jobs are 2 MB of JSON and take 40 ms to read, every few
seconds, in a process that answers people meanwhile. So they are read a slice at a time,
and between two slices whoever has asked for something gets an answer.
"""

import asyncio
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from clusterra.adapters.slurmrest.decode import Envelope, read_list
from clusterra.adapters.slurmrest.stream import Elements, Piece

SLICE = 16384
"""Bytes read in one go: 400 jobs, half a millisecond. To answer a request takes several turns of
the event loop, and between any two of them stands a slice."""


class JobStateEntry(msgspec.Struct, frozen=True, gc=False):
    job_id: str | int = ""
    state: msgspec.Raw = msgspec.Raw(b"null")
    """As it stands there: a queue has a dozen different ones, each understood once."""


class Marks:
    """One mark per job, folded from entries as they are read.

    Waiting tasks of an array are listed one by one as `<array>_<task>`, started
    ones as `<own id>_<task>`; the number before the underscore is the job whose
    record they share.
    """

    def __init__(self) -> None:
        self._words: dict[int, str] = {}
        self._shared: dict[int, dict[str, int]] = {}
        """How many entries say what, of jobs that have several."""

    def add(self, entries: Iterable[JobStateEntry]) -> None:
        words = self._words
        for entry in entries:
            number = entry.job_id
            if type(number) is str and not number.isdigit():
                number = number.partition("_")[0]
                if not number.isdigit():
                    continue
            id, word = int(number), _word(bytes(entry.state))
            if id in words:
                tally = self._shared.setdefault(id, {words[id]: 1})
                tally[word] = tally.get(word, 0) + 1
            else:
                words[id] = word

    def folded(self) -> dict[int, str]:
        """Return the marks, once every entry was added."""
        self._words.update((id, _mark(tally)) for id, tally in self._shared.items())
        return self._words


async def read_marks(body: bytes) -> tuple[dict[int, str], Envelope]:
    """Return the marks of a reply and what surrounded them; raises Broken if it is none."""
    marks = Marks()
    entries = Elements("jobs", _entries)
    for start in range(0, len(body), SLICE):
        for some in entries.feed(body[start : start + SLICE]):
            marks.add(some)
        await asyncio.sleep(0)
    rest, envelope = entries.finish()
    for some in rest:
        marks.add(some)
    return marks.folded(), envelope


def _entries(data: Piece) -> list[JobStateEntry]:
    return read_list(data, JobStateEntry)


@lru_cache(maxsize=4096)
def _word(state: bytes) -> str:
    """Write a state, a list of words in one version and one word in another, as one word.

    The same state gives the very same text each time, so that the marks of two looks
    are compared without reading them.
    """
    try:
        words = msgspec.json.decode(state, type=list[str] | str | None)
    except msgspec.ValidationError:
        return state.decode()
    return words if isinstance(words, str) else "+".join(words or ())


def _mark(tally: dict[str, int]) -> str:
    if len(tally) == 1:
        ((word, count),) = tally.items()
        return f"{word}×{count}"
    return " ".join(f"{word}×{count}" for word, count in sorted(tally.items()))
