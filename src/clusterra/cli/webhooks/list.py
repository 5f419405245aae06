"""`clusterra webhooks list`: who is told, and how it goes."""

import click

from clusterra.cli.interest import in_words
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.cli.webhooks.words import state_of
from clusterra.cli.which_one import called
from clusterra.core.words import count
from clusterra.wire.webhooks import WebhookPage, WebhookView

COLUMNS = (
    Column("NAME", name=True),
    Column("STATE"),
    Column("TO", name=True),
    Column("OF", name=True),
    Column("24 H", right=True),
    Column("WAITING", right=True),
    Column("GIVEN UP", right=True),
    Column("", note=True),
)
"""24 H is how many were told of what happened in the last day."""

NONE_YET = (
    "No webhooks yet: nobody is told when something happens.",
    "  Slack        clusterra webhooks add https://hooks.slack.com/services/… --severity error",
    "  e-mail       clusterra webhooks add mailto:you@lab.example",
    "  a program    clusterra webhooks add https://ci.lab.example/hook --types 'job.*'",
    "  Writing one?  Try it on this machine first:  clusterra events listen --forward 3000",
)


@click.command("list")
@server_options
@workspace_option
@json_option
@pass_session
def list_webhooks(session: Session, *, as_json: bool) -> None:
    """List your webhooks; admins see everybody's."""
    named = session.named_workspace()
    page = session.client.webhooks.list(session.the_workspace().id if named else "")
    if as_json:
        session.say_answer()
        return
    if not page.webhooks:
        for line in NONE_YET:
            say(line)
        return
    say(session.screen.paint(_headline(page), bold=True))
    for line in table(COLUMNS, [_row(each) for each in page.webhooks], session.screen):
        say(line)
    say(_next(page))


def _troubled(webhook: WebhookView) -> bool:
    return webhook.state == "disabled" or webhook.failing_since is not None


def _headline(page: WebhookPage) -> str:
    troubled = sum(_troubled(each) for each in page.webhooks)
    paused = sum(each.state == "paused" for each in page.webhooks)
    words = f"{count(page.total, 'webhook')}; "
    if troubled:
        return words + f"{troubled} {'does' if troubled == 1 else 'do'} not answer."
    if paused:
        return words + f"{paused} {'is' if paused == 1 else 'are'} paused, the others are well."
    return words + ("it is well." if page.total == 1 else "all are well.")


def _row(webhook: WebhookView) -> list[str | Cell]:
    kept = f"{webhook.kept:,} kept" if webhook.kept else ""
    return [
        webhook.name or webhook.id,
        state_of(webhook),
        webhook.url,
        in_words(webhook),
        f"{webhook.delivered_day:,}",
        f"{webhook.waiting:,}",
        Cell(f"{webhook.dead:,}", "red" if webhook.dead else None),
        " · ".join(part for part in (kept, tame(webhook.why)) if part),
    ]


def _next(page: WebhookPage) -> str:
    bad = next((each for each in page.webhooks if _troubled(each) or each.dead), None)
    if bad:
        return f"  Why:  clusterra webhooks deliveries {called(bad)} --only dead,retry"
    more = " · there are more: --json, or name a workspace" if page.next else ""
    return f"  More of one:  clusterra webhooks show {called(page.webhooks[0])}{more}"
