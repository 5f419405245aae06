"""What rules did, and what they left alone."""

from dataclasses import dataclass

from clusterra.core.events.fact import Fact, event


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationFact(Fact):
    id: str
    """Which automation: `aut_…`; empty for what was said with a submission (`then`)."""

    name: str = ""
    firing: str = ""
    cause: str = ""
    """Id of the event that it answers."""

    cause_type: str = ""
    action: str = ""
    """`notify`, `submit`, `call`, `requeue` or `retry`."""

    job_id: int | None = None
    """The job that the cause is about."""

    run_id: str = ""
    user: str = ""
    """Whose job that is. They may read it."""


@event("automation.fired")
class AutomationFired(AutomationFact):
    """An automation did what it is there for."""

    made_job_id: int | None = None
    """The job that it submitted."""

    made_run_id: str = ""
    changed: tuple[str, ...] = ()
    """What is different from the job that it answers, each as `memory: 1 GiB → 1.5 GiB`."""


@event("automation.refused")
class AutomationRefused(AutomationFact):
    """An automation should have acted and could not."""

    code: str = ""
    why: str = ""


@event("automation.stopped")
class AutomationStopped(AutomationFact):
    """An automation did not act, because it has done so often enough, or would answer itself."""

    why: str = ""
