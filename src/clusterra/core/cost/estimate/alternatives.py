"""How the same job would cost less: what to ask for instead, and what that costs in time.

Each idea is a job that differs in one thing, priced by the same planner as the job itself: what
this cluster cannot give, or what is no cheaper, never becomes advice. Whether a program can do
with it is not known here; each says what it rests on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from clusterra.core.cost.estimate.ground import Ground, need_of
from clusterra.core.cost.estimate.priced import Priced, price
from clusterra.core.jobs.job import Job
from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.plan import Cause
from clusterra.core.scaling.shapes import Purchase, Shape
from clusterra.core.words import count, span

MOST = 3
WORTH_PERCENT = 5
"""Less than that is not worth changing a script for."""

GIB = 1024
FAMILY_GIB = (3, 6)
"""GiB to a CPU up to which a job is one for compute, and for general, machines."""

LEAST_MEMORY = 0.6
LEAST_CPUS = 0.5
"""How little of what was asked for may still be proposed."""

GPU_GIB = {
    "t4": 16,
    "l4": 24,
    "a10g": 24,
    "a100": 40,
    "l40s": 48,
    "a100-80gb": 80,
    "h100": 80,
    "h200": 141,
    "b200": 180,
}
"""Memory of one GPU, by model: one with less may not hold what the job puts there."""

SPARE = 1.5
"""How much longer than its longest run so far a job should be allowed to take."""

ROUND_MINUTES = 5


class Kind(StrEnum):
    SPOT = "spot"
    ARCHITECTURE = "architecture"
    MEMORY = "memory"
    CPUS = "cpus"
    SHARE = "share"
    GPU = "gpu"
    TIME = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    kind: Kind
    say: str
    """What to do, and what it rests on."""

    option: str
    """What to write, as `--mem 14G`."""

    priced: Priced
    saved: int
    """Of the total, or per hour where that is not known. In millionths of a dollar."""

    percent: int
    in_time: str
    """What it costs in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known beside the job and the cluster."""

    usual_seconds: Mapping[str, float] = field(default_factory=dict)
    """How long workers of a shape take to come."""

    longest_run: float = 0
    """Seconds that jobs of this name took at most; 0 if none has ended well."""

    sets_policy: bool = False
    """Whoever asks may change how machines are bought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Idea:
    kind: Kind
    job: Job
    say: str
    option: str
    in_time: str = ""
    ground: Ground | None = None
    """Where other machines are bought."""


def alternatives(job: Job, priced: Priced, ground: Ground, known: Known) -> Sequence[Alternative]:
    """Return the best few, the greatest saving first; of each kind the one that asks least."""
    if priced.usd_per_hour is None:
        return ()
    found: list[Alternative] = []
    for ideas in (_spot, _architecture, _memory, _cpus, _share, _gpu):
        tried = (_tried(idea, job, priced, ground, known) for idea in ideas(job, ground, known))
        if best := next((each for each in tried if each), None):
            found.append(best)
    found.sort(key=lambda each: -each.saved)
    # It saves nothing but room in a quota, so it comes after what saves money.
    shorter = (_tried(idea, job, priced, ground, known) for idea in _time(job, ground, known))
    return [*found, *(each for each in shorter if each)][:MOST]


def _tried(
    idea: _Idea, job: Job, before: Priced, ground: Ground, known: Known
) -> Alternative | None:
    after = price(idea.job, idea.ground or ground)
    if after.usd_per_hour is None or before.usd_per_hour is None:
        return None
    if after.cause not in (None, Cause.ROOM, Cause.WARMING):
        return None
    old, new = before.usd_per_hour, after.usd_per_hour
    if before.total is not None and after.total is not None:
        old, new = before.total, after.total
    elif job.time_limit_minutes is None and idea.kind is Kind.CPUS:
        # Without a limit the longer run shows only in the rate.
        new = new * job.cpus // idea.job.cpus
    saved = old - new
    if saved <= 0 or saved * 100 < WORTH_PERCENT * old:
        return None
    return Alternative(
        kind=idea.kind,
        say=idea.say,
        option=idea.option,
        priced=after,
        saved=saved,
        percent=saved * 100 // old,
        in_time=" ".join(part for part in (idea.in_time, _start(before, after, known)) if part),
    )


def _start(before: Priced, after: Priced, known: Known) -> str:
    if after.cause is not Cause.WARMING or before.cause is not Cause.ROOM:
        return ""
    seconds = known.usual_seconds.get(after.shape)
    usually = f", usually in {span(seconds)}" if seconds else ""
    return f"A {after.shape} worker has to be started first{usually}."


# --- the ideas, the one that asks least first


def _spot(job: Job, ground: Ground, known: Known) -> Iterator[_Idea]:
    if not ground.shapes or ground.policy.purchase is Purchase.SPOT or not known.sets_policy:
        return
    policy = replace(ground.policy, purchase=Purchase.SPOT)
    yield _Idea(
        kind=Kind.SPOT,
        job=job,
        # What is there was bought on demand.
        ground=replace(ground, policy=policy, workers=()),
        say="Buy spot machines: it counts for all workers that are started from then on.",
        option="clusterra fleet policy set --purchase spot",
        in_time="A spot machine can be taken back at any moment; the job then starts over.",
    )


def _architecture(job: Job, ground: Ground, known: Known) -> Iterator[_Idea]:  # noqa: ARG001
    for arch in ground.policy.architectures:
        if ground.shapes and arch not in job.features:
            asked = f"({job.features})" if "|" in job.features else job.features
            features = f"{asked}&{arch}" if asked else arch
            quoted = f"'{features}'" if "&" in features else features
            yield _Idea(
                kind=Kind.ARCHITECTURE,
                job=replace(job, features=features),
                say=f"Run it on {arch} machines, if its programs are there for {arch}.",
                option=f"--constraint {quoted}",
            )


def _memory(job: Job, ground: Ground, known: Known) -> Iterator[_Idea]:  # noqa: ARG001
    need = need_of(job)
    for mib in _less_memory(need, ground.shapes.values()):
        yield _Idea(
            kind=Kind.MEMORY,
            job=replace(job, memory_mib=mib * need.nodes),
            say=f"Ask for {_size(mib)} instead of {_size(need.memory_mib)} of memory"
            f"{' on each node' if need.nodes > 1 else ''}, if it can do with that.",
            option=f"--mem {_size(mib)}",
        )


def _less_memory(need: Need, shapes: Iterable[Shape]) -> list[int]:
    """Return amounts at which a job becomes one for cheaper machines, or a smaller part of one."""
    kinds = [each for each in shapes if bool(each.gpus) is bool(need.gpus)]
    turns = {gib * GIB * need.cpus for gib in FAMILY_GIB}
    turns |= {each.memory_mib * need.cpus // each.cpus for each in kinds if each.cpus}
    turns |= {each.memory_mib for each in kinds}
    rounded = {_whole(mib) for mib in turns}
    least = need.memory_mib * LEAST_MEMORY
    return sorted((mib for mib in rounded if least <= mib < need.memory_mib), reverse=True)


def _cpus(job: Job, ground: Ground, known: Known) -> Iterator[_Idea]:  # noqa: ARG001
    """One CPU fewer can mean a machine of half the size: workers keep one for themselves."""
    if job.tasks > 1 or job.nodes_wanted > 1:
        return
    gpus = bool(job.gpus)
    offered = {shape.cpus for shape in ground.shapes.values() if bool(shape.gpus) is gpus}
    least = job.cpus * LEAST_CPUS
    for cpus in sorted((each for each in offered if least <= each < job.cpus), reverse=True):
        limit = job.time_limit_minutes
        longer = None if limit is None else -(-limit * job.cpus // cpus)
        yield _Idea(
            kind=Kind.CPUS,
            job=replace(job, cpus=cpus, time_limit_minutes=longer),
            say=f"Ask for {count(cpus, 'CPU')} instead of {job.cpus} and let it run longer.",
            option=f"--cpus {cpus}" + (f" --time {_minutes(longer)}" if longer else ""),
            in_time=f"It takes about {job.cpus * 100 // cpus - 100} % longer.",
        )


def _share(job: Job, ground: Ground, known: Known) -> Iterator[_Idea]:  # noqa: ARG001
    if job.exclusive:
        yield _Idea(
            kind=Kind.SHARE,
            job=replace(job, exclusive=False),
            say="Let others use what it leaves free of its nodes.",
            option="without --exclusive",
        )


def _gpu(job: Job, ground: Ground, known: Known) -> Iterator[_Idea]:  # noqa: ARG001
    if not job.gpus or not job.gpu_model:
        return
    enough = GPU_GIB.get(job.gpu_model)
    there = {shape.gpu_model for shape in ground.shapes.values() if shape.gpus}
    models = [
        model
        for model in there - {job.gpu_model}
        if enough is not None and GPU_GIB.get(model, 0) >= enough
    ]
    if job.gpu_model in job.features:
        return
    per_node = -(-job.gpus // max(job.nodes_wanted, 1))

    def cost(model: str) -> int:
        return price(replace(job, gpu_model=model), ground).usd_per_hour or 0

    for model in sorted(models, key=lambda model: (cost(model), model)):
        yield _Idea(
            kind=Kind.GPU,
            job=replace(job, gpu_model=model),
            say=f"Take {model} GPUs, which have {GPU_GIB[model]} GiB each"
            f" ({job.gpu_model}: {enough} GiB).",
            option=f"--gpus {model}:{per_node}",
            in_time="It may compute more slowly there.",
        )


def _time(job: Job, ground: Ground, known: Known) -> Iterator[_Idea]:  # noqa: ARG001
    if not known.longest_run or job.time_limit_minutes is None:
        return
    minutes = -(-int(known.longest_run * SPARE) // (60 * ROUND_MINUTES)) * ROUND_MINUTES
    if minutes < job.time_limit_minutes:
        yield _Idea(
            kind=Kind.TIME,
            job=replace(job, time_limit_minutes=minutes),
            say=f"Set a time limit of {_minutes(minutes)}: no job of this name has taken more than "
            f"{span(known.longest_run)}. It costs the same, and less is kept for it in a quota.",
            option=f"--time {_minutes(minutes)}",
            in_time="It is ended if it takes longer.",
        )


# --- amounts


def _whole(mib: int) -> int:
    """Round down to what people write."""
    step = GIB if mib >= 4 * GIB else GIB // 4
    return mib // step * step


def _size(mib: int) -> str:
    return f"{mib // GIB}G" if mib % GIB == 0 else f"{mib}M"


def _minutes(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{hours}h{rest or ''}{'m' if rest else ''}" if hours else f"{minutes}m"
