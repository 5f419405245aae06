"""An automation from JSON, with every mistake named; and back."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from clusterra.core.automation.action import Act, Action, Retry, Submit
from clusterra.core.automation.fields import (
    amount,
    check_fields,
    factor,
    object_of,
    text,
    texts_of,
    truth,
    whole,
    word,
    wrong,
)
from clusterra.core.automation.rule import (
    LONGEST_BACKOFF,
    LONGEST_NAME,
    MOST_PER_HOUR,
    MOST_TIMES,
    USUAL_PER_HOUR,
    Rule,
    RuleState,
    RuleWish,
)
from clusterra.core.automation.values import NAMES, check_names, in_options, in_script, texts
from clusterra.core.errors import ClusterraError, Invalid
from clusterra.core.events.interest import Interest, tidied
from clusterra.core.events.severity import Severity
from clusterra.core.jobs.compose import compose
from clusterra.core.jobs.wish import FIELDS, wish_from
from clusterra.core.quote import shown
from clusterra.core.templates.launch import launch_from
from clusterra.core.templates.sbatch import OVERRIDE
from clusterra.core.units import parse_duration, parse_memory_mib, parse_time_limit

_LISTS = ("types", "clusters", "people", "partitions", "states", "names")
_WHEN = (*_LISTS, "severity")
_RULE = ("name", "workspace", "when", "do", "most", "backoff", "most_per_hour", "state")
_RETRY = ("memory_factor", "time_factor", "most_memory", "most_time", "plain")
_SUBMIT = ("script", "template", "cluster", "options")
OPTIONS = tuple(name for name in FIELDS if name not in ("script", "then"))
OF_TEMPLATES = ("params", "inputs", OVERRIDE)

_SAMPLE = dict.fromkeys(NAMES, "1")
_SAMPLE_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def read_rule(body: Mapping[str, Any]) -> RuleWish:
    """Read `{"name": …, "when": {…}, "do": [{…}], "most": 1, "backoff": "5m", "state": "on"}`."""
    check_fields(body, _RULE)
    return RuleWish(
        name=_name(body.get("name")),
        when=read_when(body.get("when")),
        actions=read_actions(body.get("do")),
        most=read_most(body.get("most"), at="most"),
        backoff_seconds=_backoff(body.get("backoff")),
        most_per_hour=whole(
            body.get("most_per_hour"), USUAL_PER_HOUR, 1, MOST_PER_HOUR, at="most_per_hour"
        ),
        state=word(RuleState, body.get("state"), RuleState.ON, at="state"),
    )


def spelled(rule: Rule) -> dict[str, Any]:
    """Return a rule as `read_rule` reads it."""
    return {
        "name": rule.name,
        "when": {
            **{name: list(getattr(rule.when, name)) for name in _LISTS},
            "severity": rule.when.severity.value,
        },
        "do": [_spelled(action) for action in rule.actions],
        "most": rule.most,
        "backoff": f"{rule.backoff_seconds}s",
        "most_per_hour": rule.most_per_hour,
        "state": rule.state.value,
    }


def _spelled(action: Action) -> dict[str, Any]:
    match action.act:
        case Act.NOTIFY | Act.CALL:
            return {action.act.value: action.endpoint}
        case Act.REQUEUE:
            return {"requeue": {}}
        case Act.SUBMIT:
            said = action.submit
            given = {"script": said.script, "template": said.template, "cluster": said.cluster}
            wanted: dict[str, Any] = {name: value for name, value in given.items() if value}
            if said.options:
                wanted["options"] = dict(said.options)
            return {"submit": wanted}
        case Act.RETRY:
            retry = action.retry
            limits = {"most_memory": retry.most_memory_mib, "most_time": retry.most_time_minutes}
            return {
                "retry": {
                    "memory_factor": retry.memory_factor,
                    "time_factor": retry.time_factor,
                    **{name: most for name, most in limits.items() if most is not None},
                    "plain": retry.plain,
                }
            }


# --- when


def read_when(value: Any) -> Interest:
    """Read `{"types": [...], …}`; a type alone, or a list of them, is short for that."""
    if value is None:
        return Interest()
    if isinstance(value, str):
        value = {"types": [value]}
    elif isinstance(value, list):
        value = {"types": value}
    table = object_of(value, at="when")
    check_fields(table, _WHEN, at="when")
    parts = {name: texts_of(table.get(name), at=f"when.{name}") for name in _LISTS}
    severity = word(Severity, table.get("severity"), Severity.INFO, at="when.severity")
    return tidied(Interest(**parts, severity=severity))


# --- do


def read_actions(value: Any, *, at: str = "do") -> tuple[Action, ...]:
    if value is None:
        return ()
    if isinstance(value, dict):
        return (read_action(value, at=at),)
    if not isinstance(value, list):
        raise wrong(value, "a list of actions", at=at)
    return tuple(read_action(each, at=f"{at}[{place}]") for place, each in enumerate(value))


def read_action(value: Any, *, at: str) -> Action:
    """Read `{"retry": {…}}`, `{"notify": "whk_…"}`; `"retry"` is short for `{"retry": {}}`."""
    table = {value: {}} if isinstance(value, str) else object_of(value, at=at)
    if len(table) != 1:
        raise Invalid(
            f"An action names one thing to do; this one names {len(table)}.",
            hint='As {"retry": {}}, {"notify": "whk_…"} or {"submit": {"script": "…"}}.',
            at=at,
        )
    ((name, said),) = table.items()
    act = word(Act, name, Act.NOTIFY, at=at)
    at = f"{at}.{act}"
    match act:
        case Act.NOTIFY | Act.CALL:
            return Action(act=act, endpoint=_endpoint(said, at=at))
        case Act.REQUEUE:
            check_fields(object_of(said, at=at), (), at=at)
            return Action(act=act)
        case Act.SUBMIT:
            return Action(act=act, submit=_submit(said, at=at))
        case Act.RETRY:
            return Action(act=act, retry=_retry(said, at=at))


def _endpoint(said: Any, *, at: str) -> str:
    if not isinstance(said, str) or not said.startswith("whk_") or len(said) > 64:
        raise Invalid(
            f"{shown(said)} is no webhook.",
            hint="Send its id, as whk_…; `clusterra webhooks list` shows yours.",
            at=at,
        )
    return said


def _retry(said: Any, *, at: str) -> Retry:
    table = object_of(said, at=at)
    check_fields(table, _RETRY, at=at)
    usual = Retry()
    return Retry(
        memory_factor=factor(
            table.get("memory_factor"), usual.memory_factor, at=f"{at}.memory_factor"
        ),
        time_factor=factor(table.get("time_factor"), usual.time_factor, at=f"{at}.time_factor"),
        most_memory_mib=amount(
            table.get("most_memory"),
            lambda text, at: parse_memory_mib(text, at=at),
            at=f"{at}.most_memory",
        ),
        most_time_minutes=amount(
            table.get("most_time"),
            lambda text, at: parse_time_limit(text, at=at),
            at=f"{at}.most_time",
        ),
        plain=truth(table.get("plain"), at=f"{at}.plain"),
    )


def _submit(said: Any, *, at: str) -> Submit:
    if isinstance(said, str):
        said = {"script": said}
    table = object_of(said, at=at)
    check_fields(table, _SUBMIT, at=at)
    script, template, cluster = (
        text(table.get(name), at=f"{at}.{name}") for name in ("script", "template", "cluster")
    )
    options = object_of(table.get("options") or {}, at=f"{at}.options")
    check_fields(options, (*OPTIONS, *(OF_TEMPLATES if template else ())), at=f"{at}.options")
    if bool(script) == bool(template):
        raise Invalid(
            "What is submitted is a script or a template: one of the two.",
            hint="Send the script itself in submit.script, or a template's id in submit.template.",
            at=at,
        )
    for name, said_there in (("script", script), *texts(options)):
        check_names(said_there, at=f"{at}.{name}")
    if script:
        _rehearse(script, options, at=at)
    else:
        launch_from({**in_options(options, _SAMPLE), "template_id": template})
    return Submit(script=script, template=template, cluster=cluster, options=options)


def _rehearse(script: str, options: Mapping[str, Any], *, at: str) -> None:
    """Raise Invalid for what a submission would be refused for, now and not at night."""
    try:
        # As they are when all is well; what an event really says is judged when it comes.
        filled = in_options(options, _SAMPLE)
        wish = wish_from({**filled, "script": in_script(script, _SAMPLE)})
        compose(wish, home="/home/you", user="you", run_id="", now=_SAMPLE_DAY)
    except ClusterraError as error:
        where = f"{at}.{error.at}" if error.at else at
        raise Invalid(error.detail, hint=error.hint, code=error.code, at=where) from None


# --- the rest


def read_most(value: Any, *, at: str) -> int:
    return whole(value, 1, 1, MOST_TIMES, at=at)


def _name(value: Any) -> str:
    name = text(value, at="name").strip()
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid(
            f"A name has at most {LONGEST_NAME} characters, all of them printable.",
            hint="Choose a shorter one, as more-memory.",
            at="name",
        )
    return name


def _backoff(value: Any) -> int:
    most = int(LONGEST_BACKOFF.total_seconds())
    if isinstance(value, str):
        try:
            value = int(parse_duration(value, at="backoff").total_seconds())
        except OverflowError:
            value = most + 1
    return whole(value, 0, 0, most, at="backoff")
