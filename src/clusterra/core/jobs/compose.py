"""From what a person asks to what Slurm is handed.

The order of precedence is sbatch's: what was asked for beside the script wins
over its `#SBATCH` lines, and a wish for memory per node silences a line about
memory per CPU. What nobody asked for gets a default here only where slurmrestd
would refuse the job, or its output be lost; everything else is left to Slurm.

The raw body of slurmrestd takes the other road, in `raw.py`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from clusterra.core.errors import Invalid
from clusterra.core.jobs import comment
from clusterra.core.jobs.environment import environment
from clusterra.core.jobs.notation import Ask
from clusterra.core.jobs.places import places
from clusterra.core.jobs.properties import properties
from clusterra.core.jobs.raw import compose_raw as compose_raw
from clusterra.core.jobs.raw import is_raw as is_raw
from clusterra.core.jobs.request import JobRequest
from clusterra.core.jobs.script import check_script, directives
from clusterra.core.jobs.wish import JobWish as JobWish
from clusterra.core.jobs.wish import wish_from as wish_from
from clusterra.core.quote import shown
from clusterra.core.units import parse_memory_mib, parse_time_limit

_CALLED = {
    "name": "job-name",
    "cpus": "cpus-per-task",
    "memory": "mem",
    "time": "time",
    "gpus": "gpus-per-node",
    "nodes": "nodes",
    "tasks": "ntasks",
    "partition": "partition",
    "account": "account",
    "qos": "qos",
    "array": "array",
    "dependency": "dependency",
    "constraint": "constraint",
    "workdir": "chdir",
    "output": "output",
    "error": "error",
    "begin": "begin",
    "comment": "comment",
}
"""What sbatch calls the fields of a wish."""

_SILENCES = {
    "mem": ("mem-per-cpu", "mem-per-gpu"),
    "cpus-per-task": ("cpus-per-gpu",),
    "gpus-per-node": ("gpus", "gpus-per-socket", "gpus-per-task"),
    "exclusive": ("oversubscribe",),
    "requeue": ("no-requeue",),
    "no-requeue": ("requeue",),
}
"""Which lines of the script a wish replaces, beside the line of its own name."""

_EITHER = (("mem", "mem-per-cpu", "mem-per-gpu"), ("exclusive", "oversubscribe"))


def compose(
    wish: JobWish,
    *,
    home: str,
    user: str,
    run_id: str,
    now: datetime,
    given: Mapping[str, str] | None = None,
    mark: comment.Mark | None = None,
    max_array: int | None = None,
) -> JobRequest:
    """Make the request for Slurm, or say what is wrong with the wish or the script.

    `given` are variables that every job finds, `mark` says what it belongs to; `max_array` is the cluster's MaxArraySize, where it is known.
    """
    check_script(wish.script)
    asks = _settled(wish)
    found = properties(asks.values(), now=now, max_array=max_array)
    found |= {"name": found.get("name", "job")} | places(found, home=home)
    if found.get("hold"):
        # Slurm starts a held job that has a priority.
        found.pop("priority", None)
    found["comment"] = _stamped(replace(mark or comment.Mark(), run_id=run_id), asks.get("comment"))
    found["environment"] = environment(
        home=home,
        user=user,
        run_id=run_id,
        submitted_from=wish.workdir or home,
        properties=found,
        asks=asks.values(),
        wanted=wish.env,
        given=given,
    )
    return JobRequest(script=wish.script, properties=found)


def _settled(wish: JobWish) -> dict[str, Ask]:
    """Return what is asked for by option: the script's lines, and over them the wish."""
    asks: dict[str, Ask] = {}
    for line in directives(wish.script):
        ask = Ask(
            option=line.option,
            value=line.value,
            at=f"line {line.line}",
            said=f"Line {line.line}: --{line.option}",
        )
        if ask.option in {"requeue", "no-requeue"}:
            _silence(ask.option, asks)
        asks.pop(ask.option, None)
        asks[ask.option] = ask
    _check_either(asks)
    for ask in _wished(wish):
        _silence(ask.option, asks)
        asks[ask.option] = ask
    _switch_off(wish, asks)
    return asks


def _silence(option: str, asks: dict[str, Ask]) -> None:
    for other in _SILENCES.get(option, ()):
        asks.pop(other, None)
    if option == "gpus-per-node" and "gres" in asks:
        kept = [part for part in asks["gres"].text.split(",") if not _is_gpu(part)]
        asks["gres"] = replace(asks["gres"], value=",".join(kept) or "none")


def _is_gpu(gres: str) -> bool:
    return gres.removeprefix("gres/").partition(":")[0].partition("=")[0] == "gpu"


def _check_either(asks: Mapping[str, Ask]) -> None:
    for group in _EITHER:
        given = [asks[option] for option in group if option in asks]
        if len(given) > 1:
            raise given[1].wrong(
                f"cannot be used together with --{given[0].option}.", "Keep one of the two."
            )
    gres = asks.get("gres")
    if gres and "gpus-per-node" in asks and any(map(_is_gpu, gres.text.split(","))):
        raise gres.wrong("cannot ask for GPUs together with --gpus-per-node.", "Keep one of them.")


def _wished(wish: JobWish) -> Iterator[Ask]:
    for field, option in _CALLED.items():
        value = getattr(wish, field)
        if value is not None:
            ask = Ask(option=option, value=str(value), at=field, said=field)
            _check_wish(field, ask)
            yield ask
    if wish.hold:
        yield Ask(option="hold", value=None, at="hold", said="hold")
    if wish.exclusive:
        yield Ask(option="exclusive", value=None, at="exclusive", said="exclusive")
    if wish.requeue is not None:
        option = "requeue" if wish.requeue else "no-requeue"
        yield Ask(option=option, value=None, at="requeue", said="requeue")


def _switch_off(wish: JobWish, asks: dict[str, Ask]) -> None:
    if wish.hold is False:
        asks.pop("hold", None)
    if wish.exclusive is False:
        asks.pop("exclusive", None)


def _check_wish(field: str, ask: Ask) -> None:
    """Refuse what Slurm has a meaning for, and a person who asks for it in so many words not."""
    if not ask.text.strip():
        raise ask.wrong("is empty.", f"Give {field} a value, or leave it out.")
    if field == "memory" and parse_memory_mib(ask.text, at=field) == 0:
        raise ask.wrong(
            "must be more than 0.",
            "Write an amount such as 4G; `#SBATCH --mem=0` asks for all the memory of a node.",
        )
    if field == "time":
        parse_time_limit(ask.text, at=field)
    if field == "gpus" and ask.text.rpartition(":")[2].strip("0") == "":
        raise ask.wrong("must be at least 1.", "Write a number, or leave it out for none.")
    if field == "workdir" and not ask.text.startswith("/"):
        raise ask.wrong(
            f"must be an absolute path, not {shown(ask.text)}.",
            "Begin it with /, as /home/you/project.",
        )


def _stamped(mark: comment.Mark, note: Ask | None) -> str:
    stamped = comment.stamp(replace(mark, note=note.text if note else ""))
    if note and len(stamped.encode()) > comment.LONGEST:
        room = comment.LONGEST - len(comment.stamp(replace(mark, note="-")).encode()) + 1
        raise Invalid(
            f"{note.said} is too long: {len(note.text):,} characters, of which about {room:,} fit.",
            hint="Shorten it.",
            at=note.at,
        )
    return stamped
