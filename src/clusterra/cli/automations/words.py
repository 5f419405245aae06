"""Automations as people read them in a terminal."""

from typing import Any

from clusterra.cli.screen import tame
from clusterra.cli.table import Cell
from clusterra.core.words import count, span
from clusterra.wire.automations import AutomationView, FiringView

_STATES = {
    "on": ("●", "on", "green"),
    "off": ("◌", "off", None),
    "dry_run": ("◌", "tried", "yellow"),
}

_FIRINGS = {
    "due": ("◌", "to be done", "yellow"),
    "done": ("✓", "done", "green"),
    "refused": ("✗", "refused", "red"),
    "stopped": ("‖", "left alone", "yellow"),
    "dry": ("·", "would act", None),
}


def state_of(automation: AutomationView) -> Cell:
    mark, word, colour = _STATES.get(automation.state, ("?", automation.state, None))
    return Cell(f"{mark} {word}", colour)


def does(automation: AutomationView) -> str:
    """Return what it does: `retry (memory × 1.5, time × 2), notify whk_…`."""
    return tame(", ".join(_does(each) for each in automation.do))


def _does(action: dict[str, Any]) -> str:
    ((act, said),) = action.items()
    if act == "retry":
        words = (
            f"memory × {said.get('memory_factor', 1.5):g}, time × {said.get('time_factor', 2):g}"
        )
        return f"retry ({words}{', plain failures too' if said.get('plain') else ''})"
    if act == "submit":
        where = f" on {said['cluster']}" if said.get("cluster") else ""
        what = f"the template {said['template']}" if said.get("template") else "a script"
        return f"submit {what}{where}"
    return f"{act} {said}" if isinstance(said, str) else act


def bounds(automation: AutomationView) -> str:
    """Return what keeps it within bounds: `at most once for one job, after 5m 00s`."""
    times = "once" if automation.most == 1 else count(automation.most, "time")
    words = f"at most {times} for one job and what is made from it"
    words += f", {count(automation.most_per_hour, 'time')} an hour"
    if automation.backoff_seconds:
        words += f"; waits {span(automation.backoff_seconds)}, twice as long each time"
    return words


def outcome(firing: FiringView) -> Cell:
    mark, word, colour = _FIRINGS.get(firing.state, ("?", firing.state, None))
    return Cell(f"{mark} {word}", colour)


def became(firing: FiringView) -> str:
    """Return what came of it, in words."""
    made = f"job {firing.made_job_id}" if firing.made_job_id else ""
    parts = [made, ", ".join(firing.changed), firing.why]
    if firing.state == "due" and firing.tries:
        parts.append(f"tried {count(firing.tries, 'time')}")
    return tame(" · ".join(part for part in parts if part))
