"""`clusterra jobs why`: what a job waits for, from what that follows, and what would help."""

from datetime import datetime

import click

from clusterra.cli.amounts import duration, moment
from clusterra.cli.jobs.naming import complete
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import Screen, columns_of, cut_end, pad, say, tame
from clusterra.cli.session import Session
from clusterra.wire.why import EstimateView, EvidenceView, LinkView, WhyView

_GAP = "  "
_ROWS_WIDE = 24
"""Columns for where a claim comes from."""


@click.command()
@server_options
@click.argument("job_id", metavar="JOB", shell_complete=complete)
@json_option
@pass_session
def why(session: Session, *, job_id: str, as_json: bool) -> None:
    """Say why a job waits, with the rows behind every claim, and what would start it sooner."""
    found = session.client.why(session.cluster_id(), job_id)
    if as_json:
        session.say_answer()
        return
    for line in told(found, session.screen, session.watch.now()):
        say(line)


def told(found: WhyView, screen: Screen, now: datetime) -> list[str]:
    lines = _wrapped(found.summary, screen.width)
    lines[0] = screen.paint(lines[0], bold=True)
    if found.estimate is not None:
        lines.append(_guess(found.estimate, screen, now))
    lines += ["", *_chain(found.chain, screen, now)] if found.chain else []
    for note in found.unseen:
        lines += [
            screen.paint(f"{_GAP}{line}", "yellow") for line in _wrapped(note, screen.width - 2)
        ]
    if found.sooner:
        lines.append("")
        for each in found.sooner:
            lines += [f"{_GAP}{line}" for line in _wrapped(f"Sooner: {each.say}", screen.width - 2)]
            if each.command:
                # Never cut: it is to be copied.
                lines.append(f"{_GAP * 2}{tame(each.command)}")
    if found.waiting and not any(each.command for each in found.sooner):
        lines.append(f"{_GAP}Watch it:  clusterra jobs watch {_handle(found)}")
    return lines


def _handle(found: WhyView) -> str:
    return found.label if "[" not in found.label else found.label.partition("_")[0]


def _guess(guess: EstimateView, screen: Screen, now: datetime) -> str:
    """Return `start in about 2 s (1–5 s)`, what that rests on, and how often such a guess held."""
    low, likely, high = (duration(each - now) for each in (guess.low, guess.likely, guess.high))
    band = (
        f"{low.removesuffix(' s')}–{high}"
        if low.endswith(" s") and high.endswith(" s")
        else f"{low} – {high}"
    )
    made = guess.calibration
    held = f"; {made.inside} of {made.predictions} guesses held" if made.predictions else ""
    basis = f"{guess.basis[:1].lower()}{guess.basis[1:]}"
    return cut_end(f"Start in about {likely} ({band}): {tame(basis)}{held}", screen.width)


def _chain(chain: list[LinkView], screen: Screen, now: datetime) -> list[str]:
    wide = screen.width - 5 - _ROWS_WIDE - len(_GAP)
    lines = []
    for number, link in enumerate(chain, 1):
        claim = _wrapped(link.claim, wide)
        source = screen.faint(cut_end(tame(_source(link.evidence, now)), _ROWS_WIDE))
        lines.append(f"{_GAP}{number:<2} {pad(claim[0], wide)}{_GAP}{source}".rstrip())
        lines += [f"{_GAP}   {more}" for more in claim[1:]]
    return lines


def _source(rows: list[EvidenceView], now: datetime) -> str:
    """Return the row that says most: the ledger's, else the first."""
    if not rows:
        return ""
    best = next((row for row in rows if row.kind == "event"), rows[0])
    if best.kind == "event":
        return f"{best.says.get('type', 'event')} #{best.says.get('seq', '')}"
    when = f", {moment(best.at, now)}" if best.at and best.kind == "plan" else ""
    name = best.id.rpartition("/")[2] if best.kind == "limit" else best.id
    return f"{best.kind} {name}{when}"


def _wrapped(text: str, width: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in tame(text).split():
        joined = f"{line} {word}" if line else word
        if line and columns_of(joined) > width:
            lines.append(line)
            line = word
        else:
            line = joined
    return [*lines, cut_end(line, width)]
