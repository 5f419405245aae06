"""`then`: what is to follow a job, said with its submission.

[{"when": "failed", "do": {"retry": {}}, "most": 2},
 {"when": "completed", "do": {"submit": {"script": "…"}}},
 {"when": "ended", "do": {"notify": "whk_…"}}]
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from clusterra.core.automation.read import read_rule
from clusterra.core.automation.rule import (
    ENDS,
    MOST_PER_HOUR,
    NOT_RETRIED,
    RuleWish,
    check_wish,
)
from clusterra.core.errors import Invalid
from clusterra.core.events.interest import Interest
from clusterra.core.jobs.wish import unknown_field
from clusterra.core.quote import shown

MOST = 10
_FIELDS = ("when", "do", "most", "backoff")

WORDS: Mapping[str, tuple[str, ...]] = {
    "completed": ("job.completed",),
    "failed": tuple(type for type in ENDS if type not in NOT_RETRIED),
    "ended": ENDS,
}
"""What one says beside a submission, and the events that it means."""


def read_then(value: Sequence[Any]) -> tuple[RuleWish, ...]:
    """Read what is to follow; raise Invalid, before anything is submitted, for what cannot."""
    if len(value) > MOST:
        raise Invalid(
            f"then has {len(value)} entries; the most is {MOST}.",
            hint="Let a script do several things.",
            at="then",
        )
    return tuple(_entry(each, f"then[{place}]") for place, each in enumerate(value))


def _entry(value: Any, at: str) -> RuleWish:
    if not isinstance(value, dict):
        raise Invalid(
            f"{at} must be an object, got {shown(value)}.",
            hint='As {"when": "failed", "do": {"retry": {}}}.',
            at=at,
        )
    try:
        for name in value:
            if name not in _FIELDS:
                raise unknown_field(name, _FIELDS)
        said = {name: value[name] for name in ("do", "most", "backoff") if name in value}
        wish = replace(read_rule(said), when=_when(value.get("when")), most_per_hour=MOST_PER_HOUR)
        check_wish(wish)
    except Invalid as error:
        error.at = f"{at}.{error.at.replace('when.types', 'when')}" if error.at else at
        raise
    return wish


def _when(value: Any) -> Interest:
    if not isinstance(value, str) or not (value in WORDS or value.startswith("job.")):
        raise Invalid(
            f"when must say how the job goes, got {shown(value)}.",
            hint="Say completed, failed or ended; or an event of jobs, as job.out_of_memory.",
            at="when",
        )
    return Interest(types=WORDS.get(value, (value,)))
