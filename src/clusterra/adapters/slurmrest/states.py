"""A mark per job that changes when its state does: the cheapest look at a queue there is."""

import msgspec

from clusterra.adapters.slurmrest.decode import Envelope


class JobStateEntry(msgspec.Struct, frozen=True, gc=False):
    job_id: str | int = ""
    state: list[str] | str | None = None


class StatesReply(Envelope, frozen=True):
    jobs: list[JobStateEntry] | None = None


def marks(entries: list[JobStateEntry]) -> dict[int, str]:
    """Fold the entries into one mark per job.

    Waiting tasks of an array are listed one by one as `<array>_<task>`, started
    ones as `<own id>_<task>`; the number before the underscore is the job whose
    record they share.
    """
    tallies: dict[int, dict[str, int]] = {}
    for entry in entries:
        number = str(entry.job_id).partition("_")[0]
        if not number.isdigit():
            continue
        state = entry.state
        word = state if isinstance(state, str) else "+".join(state or ())
        tally = tallies.setdefault(int(number), {})
        tally[word] = tally.get(word, 0) + 1
    return {job: _mark(tally) for job, tally in tallies.items()}


def _mark(tally: dict[str, int]) -> str:
    if len(tally) == 1:
        ((word, count),) = tally.items()
        return word if count == 1 else f"{word}×{count}"
    return " ".join(f"{word}×{count}" for word, count in sorted(tally.items()))
