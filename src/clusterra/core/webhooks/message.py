"""An event as a message: a sentence first, then facts, then where to look.

One message has many forms (`formats`), and all of them say the same. Several events at once
are `together`.
"""

from dataclasses import replace
from datetime import tzinfo
from urllib.parse import quote

from clusterra.core.events.severity import severity_of
from clusterra.core.events.tell import person, tell
from clusterra.core.webhooks import job_words
from clusterra.core.webhooks.telling import JobContext, Message, Place, Telling
from clusterra.core.webhooks.tidy import NAME, tidied, tidy, tidy_line
from clusterra.core.webhooks.when import clock, moment, read_moment, readers_zone
from clusterra.core.words import listed, span

LINES = 12
"""Of output, at most: the last ones."""

HEADLINE = 110
SENTENCE = 2000


def message(telling: Telling, place: Place) -> Message:
    """Say what happened."""
    telling = tidy_telling(telling)
    zone = readers_zone(place.zone)
    title, rest, line = _told(telling, zone)
    mark = "Test: " if telling.is_made_up else ""
    sentence = tidy(f"{mark}{title}{rest}", SENTENCE)
    title = tidy(mark + title)
    link, label = _link(telling, place)
    return Message(
        title=title if sentence.startswith(title) else "",
        sentence=sentence,
        headline=tidy(mark + _headline(telling, title.removeprefix(mark), rest), HEADLINE),
        line=tidy(line),
        facts=_facts(telling),
        output=telling.job.last_lines if telling.job else (),
        link=link,
        link_label=label,
        severity=severity_of(telling.type),
        footer=footer(telling, place, moment(telling.at, zone)),
    )


def tidy_telling(telling: Telling) -> Telling:
    """Return it with nothing in it that could be more than words."""
    return replace(
        telling,
        cluster=tidy(telling.cluster, NAME),
        subject=tidy(telling.subject, NAME),
        actor=tidy(telling.actor, NAME),
        data=tidied(telling.data),
        job=None if telling.job is None else _tidy_job(telling.job),
    )


def footer(telling: Telling, place: Place, when: str) -> str:
    return " · ".join(part for part in (telling.cluster, tidy(place.workspace, NAME), when) if part)


def console_link(place: Place, *parts: object) -> str:
    """Return an address in the console; nothing if nobody has said where it is."""
    if not place.console.startswith(("https://", "http://")):
        return ""
    return "/".join((place.console.rstrip("/"), *(quote(str(part), safe="") for part in parts)))


def _tidy_job(job: JobContext) -> JobContext:
    lines = (tidy_line(line) for text in job.last_lines for line in text.splitlines())
    return replace(
        job,
        nodes=tuple(tidy(node, NAME) for node in job.nodes),
        cause=tidy(job.cause),
        advice=tidy(job.advice),
        last_lines=tuple([line for line in lines if line][-LINES:]),
        artifacts=tuple(tidy(each) for each in job.artifacts[:5]),
    )


def _told(telling: Telling, zone: tzinfo) -> tuple[str, str, str]:
    """Return the title, the rest of the sentence, and both for a line among others."""
    if telling.type.startswith("job."):
        verb, rest = job_words.job_words(telling, zone)
        verb = f" {verb}" if verb else ""
        named = job_words.lead(telling.data, named=True)
        return job_words.lead(telling.data) + verb, rest, f"{named}{verb}{rest}"
    sentence = _about(telling, zone)
    title, colon, rest = sentence.partition(": ")
    return title, f"{colon}{rest}", sentence


def _about(telling: Telling, zone: tzinfo) -> str:
    """Return the sentence about anything that is not a job."""
    kind, told = telling.type.partition(".")[0], _words(telling, zone)
    if kind == "node":
        return f"Worker {telling.subject.partition('/')[2] or '?'} {told}"
    if kind in ("cluster", "fleet"):
        of = "Cluster" if kind == "cluster" else "Fleet of"
        # `its agent cannot be seen` and `general-small: 0 → 2` are sentences of their own.
        own = kind == "fleet" or told.startswith(("its ", "the "))
        return f"{of} {telling.cluster or telling.ledger}{':' if own else ''} {told}"
    return told[0].upper() + told[1:] if told.startswith(_OURS) else told


_OURS = ("the ", "what ", "somebody ")
"""How sentences begin that do not begin with somebody's name."""


def _words(telling: Telling, zone: tzinfo) -> str:
    kind, _, who = telling.actor.partition(":")
    if telling.type == "fleet.shortage" and (until := read_moment(telling.data.get("until"))):
        why = telling.data.get("why") or ""
        told = f"{telling.data.get('shape')} did not come; left alone until {clock(until, zone)}"
        return f"{told}: {why}" if why else told
    return tell(telling.type, telling.data, by=person(kind, who))


def _headline(telling: Telling, title: str, rest: str) -> str:
    """Return `helix: Job 41 failed, ana's align`."""
    cluster = f"{telling.cluster}: " if telling.cluster else ""
    told = title + rest
    # A title without a verb (`Job 41` of `Job 41 waits`) says nothing alone.
    if telling.type.startswith("job.") and title != job_words.lead(telling.data):
        whose = job_words.whose(telling.data)
        return cluster + title + (f", {whose}" if whose else "")
    return told if telling.cluster and telling.cluster in told else cluster + told


def _link(telling: Telling, place: Place) -> tuple[str, str]:
    data = telling.data
    job = data.get("made_job_id") or data.get("job_id")
    if not telling.is_of_a_cluster or not job:
        return "", ""
    link = console_link(place, "clusters", telling.ledger, "jobs", job)
    label = job if data.get("made_job_id") else data.get("label") or job
    return link, f"Open job {label}" if link else ""


def _facts(telling: Telling) -> tuple[tuple[str, str], ...]:
    facts = _job_facts(telling) if telling.type.startswith("job.") else []
    return tuple((label, value) for label, value in facts if value)[:10]


def _job_facts(telling: Telling) -> list[tuple[str, str]]:
    data, job = telling.data, telling.job
    nodes, ran = job_words.nodes_of(telling), job_words.ran_seconds(telling)
    waited = data.get("waited_seconds")
    if waited is None and job is not None:
        waited = job.waited_seconds
    costs = job_words.cost(job)
    return [
        ("Job", data.get("name") or ""),
        ("Owner", data.get("user") or ""),
        ("Partition", data.get("partition") or ""),
        ("Worker" if len(nodes) == 1 else "Workers", listed(nodes, most=job_words.FEW)),
        ("Waited", "" if waited is None else span(waited)),
        ("Ran", "" if ran is None else span(ran)),
        ("Cost", costs if not costs or (job and job.is_final) else f"{costs} so far"),
        ("Rate", job_words.rate(job)),
        ("Artifacts", ", ".join(job.artifacts) if job else ""),
    ]
