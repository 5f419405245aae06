"""An event as one sentence for people: `ana submitted align: 2 CPUs, 4 GiB`.

The terminal, the console and chat messages say the same words. What the event is
about (`job/41`) stands beside the sentence wherever it is shown, and is not repeated in
it, except where a name says more. An event of a kind that is not known here (a newer
server's) is told by its type.
"""

from collections.abc import Callable, Mapping
from typing import Any

from clusterra.core.money import dollars
from clusterra.core.words import count, span

Data = Mapping[str, Any]
Explain = Callable[[str], str]
"""Puts Slurm's code for a reason into words."""

_SIGNALS = {6: "ABRT", 9: "KILL", 11: "SEGV", 15: "TERM"}
_TURN = frozenset({"", "None", "Priority", "Resources"})


def tell(type: str, data: Data, *, by: str = "", explain: Explain = str) -> str:
    """Return the sentence; `by` is the person who did it, where one did."""
    if (how := _JOBS.get(type)) is not None:
        return how(data, by, explain)
    if (plain := _PLAIN.get(type)) is not None:
        return plain(data, by)
    return type.rpartition(".")[2].replace("_", " ")


def person(authtype: str, authid: str) -> str:
    """Return who acted, or nothing where it was the system."""
    return authid if authtype == "user" else ""


def _memory(mib: int) -> str:
    return f"{mib / 1024:.3g} GiB" if mib >= 1024 else f"{mib} MiB"


def asked(data: Data) -> str:
    """Return what a job asks for, or a node has: `2 nodes, 8 CPUs, 4 GiB`."""
    nodes, minutes = data.get("nodes_wanted") or 0, data.get("time_limit_minutes")
    parts = (
        count(nodes, "node") if nodes > 1 else "",
        count(data["cpus"], "CPU") if data.get("cpus") else "",
        _memory(data["memory_mib"]) if data.get("memory_mib") else "",
        count(data["gpus"], "GPU") if data.get("gpus") else "",
        f"at most {span(minutes * 60)}" if minutes else "",
    )
    return ", ".join(part for part in parts if part)


def _with(words: str, more: str, between: str = ": ") -> str:
    return f"{words}{between}{more}" if more else words


# --- jobs


def _submitted(data: Data, by: str, _: Explain) -> str:
    who, name = by or data.get("user"), data.get("name") or "a job"
    words = f"{who} submitted {name}" if who else f"{name} was submitted"
    return _with(words, asked(data))


def _pending(data: Data, _: str, explain: Explain) -> str:
    reason = data.get("reason") or ""
    return "waits for its turn" if reason in _TURN else f"waits: {explain(reason)}"


def _allocated(data: Data, _by: str, _: Explain) -> str:
    return _with("has its nodes and waits for them to be ready", data.get("nodes") or "")


def _started(data: Data, _by: str, _: Explain) -> str:
    words = _with("started", data.get("nodes") or "", " on ")
    waited = data.get("waited_seconds")
    return words if waited is None else f"{words} after waiting {span(waited)}"


def _ran(data: Data, words: str) -> str:
    ran = data.get("ran_seconds")
    return f"{words} before it started" if ran is None else f"{words} after {span(ran)}"


def ending(data: Data) -> str:
    """Return what a job ended with: `exit code 3`, `signal 9 (KILL)`; nothing if that says nothing."""
    signal, code = data.get("signal"), data.get("exit_code")
    if signal:
        return f"signal {signal}" + (f" ({_SIGNALS[signal]})" if signal in _SIGNALS else "")
    return f"exit code {code}" if code else ""


def _failed(data: Data, _: str, explain: Explain) -> str:
    if how := ending(data):
        return _ran(data, f"failed with {how}")
    return _with(_ran(data, "failed"), explain(data.get("reason") or ""))


def _cancelled(data: Data, by: str, _: Explain) -> str:
    words = _ran(data, f"{by} cancelled it" if by else "was cancelled")
    return _with(words, data.get("why") or "")


def _node_fail(data: Data, _by: str, _: Explain) -> str:
    return _ran(data, _with("was lost with its node", data.get("nodes") or "", " "))


def _requeued(data: Data, by: str, _: Explain) -> str:
    words = f"{by} put it back into the queue" if by else "went back into the queue"
    return _with(words, f"restart {data['restarts']}" if data.get("restarts") else "", ", ")


def _held(data: Data, by: str, explain: Explain) -> str:
    return f"{by} holds it" if by else _with("is held", explain(data.get("reason") or ""))


def _near(data: Data, _by: str, _: Explain) -> str:
    minutes = data.get("time_limit_minutes")
    return "comes near its time limit" + (f" of {span(minutes * 60)}" if minutes else "")


def _costs(data: Data, _by: str, _: Explain) -> str:
    if data.get("why_unknown"):
        return f"costs an unknown amount: {data['why_unknown']}"
    rate, total = data.get("usd_per_hour_micros") or 0, data.get("estimated_micros")
    words = f"costs {dollars(rate)} per hour"
    return words if total is None else f"{words}, {dollars(total)} if it takes all its time"


def _cost(data: Data, _by: str, _: Explain) -> str:
    if data.get("why_unknown"):
        return f"cost an unknown amount: {data['why_unknown']}"
    cost, total = data.get("cost_micros") or 0, data.get("total_micros")
    words = f"cost {dollars(cost)}"
    return words if total in (None, cost) else f"{words}, {dollars(total or 0)} with earlier runs"


def _over_estimate(data: Data, _by: str, _: Explain) -> str:
    cost, estimated = data.get("cost_micros") or 0, data.get("estimated_micros") or 0
    return f"has cost {dollars(cost)}; {dollars(estimated)} was estimated"


def _over_quota(data: Data, _by: str, _: Explain) -> str:
    return _with(f"will be cancelled at {_clock(data.get('cancels_at'))}", data.get("why") or "")


_JOBS: Mapping[str, Callable[[Data, str, Explain], str]] = {
    "job.submitted": _submitted,
    "job.pending": _pending,
    "job.allocated": _allocated,
    "job.started": _started,
    "job.completed": lambda data, _, __: _ran(data, "completed"),
    "job.failed": _failed,
    "job.cancelled": _cancelled,
    "job.timeout": lambda data, _, __: _ran(data, "reached its time limit"),
    "job.out_of_memory": lambda data, _, __: _ran(data, "ran out of memory"),
    "job.node_fail": _node_fail,
    "job.preempted": lambda data, _, __: _ran(data, "made room for a more important job"),
    "job.lost": lambda _data, _, __: "is known to Slurm no more",
    "job.requeued": _requeued,
    "job.held": _held,
    "job.released": lambda _, by, __: f"{by} released it" if by else "may start again",
    "job.suspended": lambda _, by, __: f"{by} suspended it" if by else "was suspended",
    "job.resumed": lambda _, by, __: f"{by} resumed it" if by else "runs on",
    "job.time_limit_near": _near,
    "job.cost.estimated": _costs,
    "job.cost.finalized": _cost,
    "job.cost.over_estimate": _over_estimate,
    "job.cost.over_quota": _over_quota,
}


# --- everything else


def _state(words: str) -> Callable[[Data, str], str]:
    return lambda data, _: _with(words, data.get("reason") or "")


def _registered(data: Data, _: str) -> str:
    return _with("joined", asked(data), " with ")


def _quota(words: str) -> Callable[[Data, str], str]:
    def told(data: Data, _: str) -> str:
        return (
            f"{_whose(data)} has {words}: {data.get('used')} of {data.get('limit')} "
            f"{data.get('currency')} in {data.get('period')}"
        )

    return told


def _whose(data: Data) -> str:
    return data.get("user") or data.get("email") or f"the workspace {data.get('workspace')}"


def _wasted(data: Data, _: str) -> str:
    causes = (f"{dollars(each['micros'])} {each['cause']}" for each in data.get("causes") or ())
    words = f"{dollars(data.get('micros') or 0)} went to machines without work"
    return _with(words, ", ".join(causes))


def _raised(data: Data, by: str) -> str:
    who, whose = by or "the server", _whose(data)
    if not data.get("micros"):
        return f"{who} ended the raise of the quota of {whose}"
    until = (data.get("until") or "")[:10]
    return _with(
        f"{who} gave {whose} {dollars(data['micros'])} more until {until}", data.get("why") or ""
    )


def _admin(what: str, done: str) -> Callable[[Data, str], str]:
    def told(data: Data, by: str) -> str:
        return f"{by or 'the server'} {done} the {what} {data.get('name') or data.get('id')}"

    return told


def _signing(data: Data, words: str) -> str:
    return _with(f"{data.get('email') or 'somebody'} {words}", data.get("address") or "", " from ")


def _first_used(what: str, data: Data) -> str:
    told = f"the {what} {data.get('name') or data.get('id')} was used for the first time"
    return _with(told, data.get("address") or "", " from ")


def _access(data: Data, by: str, words: str) -> str:
    return f"{data.get('email')} {words} {data.get('role')}" + (f", by {by}" if by else "")


def _part(data: Data) -> str:
    """Say who, where it is not Slurm that is meant."""
    return "its agent " if data.get("part") == "agent" else ""


def _clock(moment: str | None) -> str:
    """Return the time of day in a moment as events write it."""
    return f"{moment[11:16]} UTC" if moment else "it comes"


# --- webhooks and automations


def _webhook(data: Data) -> str:
    return f"the webhook {data.get('name') or data.get('id')}"


def _failing(data: Data, _: str) -> str:
    words = f"{_webhook(data)} was not reached {count(data.get('failures') or 0, 'time')} in a row"
    if data.get("percent"):
        words += f", and is {data['percent']} % on the way to being disabled"
    return _with(words, data.get("why") or "")


def _untold(data: Data, _: str) -> str:
    attempts = count(data.get("attempts") or 0, "attempt")
    words = f"{_webhook(data)} was not told of {data.get('event_type')} after {attempts}"
    return _with(words, data.get("why") or "")


def _automation(data: Data) -> str:
    name = data.get("name") or data.get("id")
    return f"the automation {name}" if name else "what was said with the submission"


def _the_job(data: Data) -> str:
    return f"job {data['job_id']}" if data.get("job_id") else "it"


def _fired(data: Data, _: str) -> str:
    job, made = _the_job(data), data.get("made_job_id")
    new = f"job {made}" if made else "a job"
    did = {
        "notify": "sent word",
        "submit": f"submitted {new}",
        "call": "called an address",
        "requeue": f"put {job} back into the queue",
        "retry": f"submitted {job} again" + (f" as job {made}" if made else ""),
    }.get(data.get("action") or "", "did what it is there for")
    words = _with(f"{_automation(data)} {did}", data.get("cause_type") or "", " after ")
    return _with(words, ", ".join(data.get("changed") or ()))


def _refused(data: Data, _: str) -> str:
    action = data.get("action") or "act"
    of = f" of {_the_job(data)}" if data.get("job_id") else ""
    return _with(
        f"{_automation(data)} could not {action}, for {data.get('cause_type')}{of}",
        data.get("why") or "",
    )


def _stopped(data: Data, _: str) -> str:
    of = f" of {_the_job(data)}" if data.get("job_id") else ""
    return _with(
        f"{_automation(data)} leaves {data.get('cause_type')}{of} alone", data.get("why") or ""
    )


_PLAIN: Mapping[str, Callable[[Data, str], str]] = {
    "node.provisioning": _state("was asked for"),
    "node.launched": _state("runs; Slurm does not know it yet"),
    "node.registered": _registered,
    "node.active": _state("takes jobs"),
    "node.drained": _state("takes no new jobs"),
    "node.down": _state("is down"),
    "node.resumed": _state("takes jobs again"),
    "node.terminated": _state("is gone"),
    "node.spot_interrupted": lambda data, _: _with(
        "is taken back by the cloud", data.get("action") or ""
    ),
    "fleet.resized": lambda data, _: _with(
        f"{data.get('shape')}: {data.get('before')} → {data.get('after')} workers",
        data.get("reason") or "",
    ),
    "fleet.shortage": lambda data, _: _with(
        f"{data.get('shape')} did not come; left alone until {_clock(data.get('until'))}",
        data.get("why") or "",
    ),
    "node.misclassified": lambda data, _: (
        f"is no {data.get('expected')} machine but a {data.get('actual')} one "
        f"({data.get('instance_type')}), and does not join"
    ),
    "cluster.state.starting": lambda _data, _: "is being started",
    "cluster.state.started": lambda _data, _: "was started",
    "cluster.state.stopping": lambda _data, _: "is being stopped",
    "cluster.state.stopped": lambda _data, _: "was stopped",
    "cluster.connected": lambda data, _: (
        f"was seen for the first time: Slurm {data.get('slurm_version')}, "
        f"API {data.get('api_version')}"
    ),
    "cluster.unreachable": lambda data, _: _with(
        f"{_part(data)}cannot be seen", data.get("why") or ""
    ),
    "cluster.recovered": lambda data, _: (
        f"{_part(data)}is seen again after {span(data.get('unseen_seconds') or 0)}"
    ),
    "cluster.notice": lambda data, _: _with("the cloud said", data.get("name") or ""),
    "user.login": lambda data, _: _signing(data, "signed in"),
    "user.login_failed": lambda data, _: _with(
        _signing(data, "could not sign in"), data.get("why") or ""
    ),
    "user.logout": lambda data, _: _with(
        f"{data.get('email')} was signed out"
        if data.get("why")
        else f"{data.get('email')} signed out",
        (data.get("why") or "").replace("-", " "),
    ),
    "user.access.granted": lambda data, by: _access(data, by, "was given the role"),
    "user.access.revoked": lambda data, by: _access(data, by, "lost the role"),
    "fleet.cost.wasted": _wasted,
    "fleet.cost.waste_high": lambda data, _: (
        f"{dollars(data.get('micros') or 0)} went to machines without work on {data.get('period')}; "
        f"the limit is {dollars(data.get('limit_micros') or 0)}"
    ),
    "user.cost.unusual": lambda data, _: (
        f"{_whose(data)} spent {dollars(data.get('micros') or 0)} on {data.get('period')}; "
        f"{dollars(data.get('usual_micros') or 0)} is usual"
    ),
    "user.quota.high": _quota("spent most of the quota"),
    "user.quota.exceeded": _quota("spent more than the quota"),
    "admin.token.created": _admin("token", "made"),
    "admin.token.revoked": _admin("token", "revoked"),
    "admin.token.first_used": lambda data, _: _first_used("token", data),
    "admin.key.created": _admin("key", "made"),
    "admin.key.first_used": lambda data, _: _first_used("key", data),
    "admin.key.revoked": _admin("key", "revoked"),
    "admin.workspace.changed": lambda data, by: (
        f"{by or 'the server'} changed {data.get('name') or data.get('id')} "
        f"from {data.get('before')} to {data.get('after')}"
    ),
    "admin.cluster.added": _admin("cluster", "added"),
    "admin.cluster.removed": _admin("cluster", "removed"),
    "admin.policy.changed": lambda data, by: _with(
        f"{by or 'the server'} changed the fleet's policy", ", ".join(data.get("changed") or ())
    ),
    "admin.retention.changed": lambda data, by: _with(
        f"{by or 'the server'} changed how long files stay", ", ".join(data.get("changed") or ())
    ),
    "files.expired": lambda data, _: (
        f"{count(data.get('files') or 0, 'file')} in {data.get('location')} of"
        f" {data.get('owner') or 'everybody'} went: kept for"
        f" {count(data.get('kept_days') or 0, 'day')}"
    ),
    "admin.webhook.created": _admin("webhook", "made"),
    "admin.webhook.changed": _admin("webhook", "changed"),
    "admin.webhook.deleted": _admin("webhook", "took away"),
    "admin.webhook.secret_rotated": lambda data, by: (
        f"{by or 'the server'} gave {_webhook(data)} a new secret"
    ),
    "admin.automation.created": _admin("automation", "made"),
    "admin.automation.changed": lambda data, by: _with(
        f"{by or 'the server'} changed {_automation(data)}", ", ".join(data.get("changed") or ())
    ),
    "admin.automation.deleted": _admin("automation", "took away"),
    "webhook.failing": _failing,
    "webhook.recovered": lambda data, _: (
        f"{_webhook(data)} was reached again after {count(data.get('failures') or 0, 'failure')}"
    ),
    "webhook.disabled": lambda data, _: _with(
        f"{_webhook(data)} was disabled", data.get("why") or ""
    ),
    "webhook.delivery.dead": _untold,
    "automation.fired": _fired,
    "automation.refused": _refused,
    "automation.stopped": _stopped,
    "admin.quota.changed": lambda data, by: _with(
        f"{by or 'the server'} changed the quota of {_whose(data)}",
        ", ".join(data.get("changed") or ()),
    ),
    "admin.quota.raised": _raised,
    "admin.prices.changed": lambda data, by: _with(
        f"{by or 'the server'} changed the prices of {data.get('name') or data.get('id')}",
        ", ".join(data.get("changed") or ()),
    ),
    "admin.template.changed": _admin("template", "changed"),
    "collector.gap": lambda data, _: _with(
        f"{count(data.get('lost') or 0, 'message')} of hooks could not be kept",
        data.get("why") or "",
    ),
    "collector.tested": lambda _data, _: "the hooks were tried, and arrive",
}
