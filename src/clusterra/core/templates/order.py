"""In which order the steps of a workflow are submitted."""

from collections.abc import Collection, Sequence
from typing import Protocol, TypeVar

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown

MOST_STEPS = 200


class Depends(Protocol):
    @property
    def step_id(self) -> str: ...

    @property
    def depends_on(self) -> Collection[str]: ...


D = TypeVar("D", bound=Depends)


def in_order(steps: Sequence[D]) -> tuple[D, ...]:
    """Return the steps with each after those it depends on, else as they are written.

    Raises Invalid for a step that does not exist, that is there twice, or that waits for itself.
    """
    if len(steps) > MOST_STEPS:
        raise Invalid(
            f"There are {len(steps)} steps; the most is {MOST_STEPS}.",
            hint="Use job arrays for what is done many times.",
            code="workflow-too-large",
        )
    known = {step.step_id: step for step in steps}
    _check_names(steps, known)
    done: dict[str, D] = {}
    while len(done) < len(steps):
        ready = [
            step
            for step in steps
            if step.step_id not in done and all(each in done for each in step.depends_on)
        ]
        if not ready:
            raise _circle(steps, done)
        done |= {step.step_id: step for step in ready}
    return tuple(done.values())


def _check_names(steps: Sequence[D], known: Collection[str]) -> None:
    seen: set[str] = set()
    for step in steps:
        if step.step_id in seen:
            raise Invalid(
                f"There are two steps {shown(step.step_id)}.",
                hint="Rename one of them.",
                code="workflow-step-twice",
                at=step.step_id,
            )
        seen.add(step.step_id)
        for each in step.depends_on:
            if each not in known:
                raise Invalid(
                    f"The step {step.step_id} depends on {shown(each)}, and there is no such step.",
                    hint=f"The steps are: {', '.join(known)}.",
                    code="workflow-unknown-step",
                    at=step.step_id,
                )


def _circle(steps: Sequence[D], done: Collection[str]) -> Invalid:
    waiting = {step.step_id: step for step in steps if step.step_id not in done}
    at, walked = next(iter(waiting)), []
    while at not in walked:
        walked.append(at)
        at = next(each for each in waiting[at].depends_on if each in waiting)
    circle = [*walked[walked.index(at) :], at]
    return Invalid(
        f"The steps {' → '.join(circle)} wait for each other.",
        hint="Take one of these dependencies out.",
        code="workflow-cycle",
        at=at,
    )
