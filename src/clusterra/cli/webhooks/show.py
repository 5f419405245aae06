"""`clusterra webhooks show`: all about one."""

from datetime import datetime
from textwrap import wrap

import click

from clusterra.cli.amounts import duration
from clusterra.cli.interest import in_words
from clusterra.cli.moments import day
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import Screen, cut_end, say, tame
from clusterra.cli.session import Session
from clusterra.cli.webhooks.naming import the_webhook
from clusterra.cli.webhooks.words import form_of, state_of
from clusterra.cli.which_one import called
from clusterra.wire.webhooks import WebhookView


@click.command("show")
@server_options
@click.argument("webhook")
@workspace_option
@json_option
@pass_session
def show_webhook(session: Session, *, webhook: str, as_json: bool) -> None:
    """Show WEBHOOK: its id, its name, or the beginning of its id."""
    view = session.client.webhooks.show(the_webhook(session, webhook).id)
    if as_json:
        session.say_answer()
        return
    for line in portrait(view, session.screen, session.watch.now()):
        say(line)


def portrait(view: WebhookView, screen: Screen, now: datetime) -> list[str]:
    state = state_of(view)
    name = f"{tame(view.name)} · {view.id}" if view.name else view.id
    lines = [f"{name} · {screen.paint(state.text, state.colour)} · tells {tame(view.url)}"]
    about = [
        ("why", tame(view.why)),
        ("failing", f"for {duration(now - view.failing_since)}" if view.failing_since else ""),
        *_several("of", in_words(view, most=None), screen),
        ("as", form_of(view)),
        ("public", tame(view.public_key)),
        ("order", "one at a time, as it happened" if view.ordered else ""),
        ("rate", f"at most {view.per_second:g} a second" if view.per_second else ""),
        ("reaches", "private addresses too" if view.allow_private else ""),
        ("times", f"as in {tame(view.zone)}" if view.zone else ""),
        ("24 h", _figures(view)),
        ("made", f"{day(view.created_at)} by {tame(view.owner)} in {tame(view.workspace)}"),
    ]
    # A key is copied: cut, it would be another one.
    lines += [
        f"  {word:<9}{text}" if word == "public" else cut_end(f"  {word:<9}{text}", screen.width)
        for word, text in about
        if text
    ]
    return [*lines, f"  {'Next:':<9}{_next(view)}"]


def _several(word: str, text: str, screen: Screen) -> list[tuple[str, str]]:
    """Return a line and those that go on with it: nothing of it is cut."""
    first, *more = wrap(text, max(screen.width - 11, 20))
    return [(word, first), *(("", line) for line in more)]


def _figures(view: WebhookView) -> str:
    parts = [f"{view.delivered_day:,} told", f"{view.waiting:,} waiting"]
    if view.kept:
        parts.append(f"{view.kept:,} kept")
    parts.append(f"{view.dead:,} given up")
    return " · ".join(parts)


def _next(view: WebhookView) -> str:
    if view.state != "active":
        return f"clusterra webhooks resume {called(view)}"
    if view.dead:
        return f"clusterra webhooks replay {called(view)} --failed-since 1d --dry-run"
    if view.failing_since:
        return f"clusterra webhooks deliveries {called(view)} --only retry"
    return f"clusterra webhooks deliveries {called(view)}"
