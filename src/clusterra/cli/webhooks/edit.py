"""`clusterra webhooks edit`, `pause` and `resume`."""

from collections.abc import Mapping
from pathlib import Path

import click

from clusterra.cli.interest import in_words
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.webhooks.naming import the_webhook
from clusterra.cli.webhooks.wanting import credential, credential_option, edited, interest_options
from clusterra.cli.which_one import called
from clusterra.core.words import count
from clusterra.wire.webhooks import WebhookChanged


@click.command("edit")
@server_options
@click.argument("webhook")
@click.option("--to", metavar="URL", help="Another address.")
@interest_options
@click.option("--name", help="What to call it.")
@click.option("--allow-private/--no-allow-private", default=None, help="As its address is.")
@click.option("--ordered/--not-ordered", default=None, help="One at a time, or as they come.")
@click.option("--zone", metavar="NAME", help="Of the times in messages.")
@click.option("--per-second", type=float, metavar="N", help="At most so many; 0 is no limit.")
@click.option("--ed25519/--no-ed25519", default=None, help="Sign with the public key as well.")
@credential_option
@workspace_option
@json_option
@pass_session
def edit_webhook(
    session: Session,
    *,
    webhook: str,
    to: str | None,
    types: tuple[str, ...],
    people: tuple[str, ...],
    partitions: tuple[str, ...],
    states: tuple[str, ...],
    names: tuple[str, ...],
    clusters: tuple[str, ...],
    severity: str | None,
    name: str | None,
    allow_private: bool | None,
    ordered: bool | None,
    zone: str | None,
    per_second: float | None,
    ed25519: bool | None,
    credential_file: Path | None,
    as_json: bool,
) -> None:
    """Change WEBHOOK. What is not named stays; `any` lifts what narrows:

    \b
      clusterra webhooks edit ci --types 'job.*' --person any
    """
    wanted = {
        "url": to,
        "types": edited(types),
        "people": edited(people),
        "partitions": edited(partitions),
        "states": edited(states),
        "names": edited(names),
        "clusters": edited(clusters),
        "severity": severity,
        "name": name,
        "allow_private": allow_private,
        "ordered": ordered,
        "zone": zone,
        "per_second": per_second,
        "ed25519": ed25519,
        "credential": credential(credential_file) or None,
    }
    edit = {field: value for field, value in wanted.items() if value is not None}
    if not edit:
        raise click.UsageError("Say what to change: --types, --to, --severity, --name, …")
    changed = _edit(session, webhook, edit)
    if as_json:
        session.say_answer()
        return
    view = changed.webhook
    say(f"{called(view)} tells {tame(view.url)} of {in_words(view)} from now on.")
    _warn(session, changed)
    say(f"  Next:  clusterra webhooks test {called(view)}")


@click.command("pause")
@server_options
@click.argument("webhook")
@workspace_option
@json_option
@pass_session
def pause_webhook(session: Session, *, webhook: str, as_json: bool) -> None:
    """Send WEBHOOK nothing for a while. What happens meanwhile is kept."""
    changed = _edit(session, webhook, {"state": "paused"})
    if as_json:
        session.say_answer()
        return
    name = called(changed.webhook)
    say(f"{name} is paused. What happens meanwhile is kept.")
    _warn(session, changed)
    say(f"  Next:  clusterra webhooks resume {name}")


@click.command("resume")
@server_options
@click.argument("webhook")
@click.option("--skip-kept", is_flag=True, help="Do not deliver what was kept meanwhile.")
@workspace_option
@json_option
@pass_session
def resume_webhook(session: Session, *, webhook: str, skip_kept: bool, as_json: bool) -> None:
    """Send WEBHOOK again what happens, after what was kept while it was paused or disabled."""
    changed = _edit(session, webhook, {"state": "active", "replay": not skip_kept})
    if as_json:
        session.say_answer()
        return
    name, kept = called(changed.webhook), changed.webhook.kept
    if changed.replaying:
        first = f"; {count(changed.replaying, 'event')} kept meanwhile go first"
    elif kept:
        first = f"; {count(kept, 'event')} kept meanwhile stay where they are"
    else:
        first = "; nothing had been kept"
    say(f"{name} is active again{first}.")
    _warn(session, changed)
    say(f"  Next:  clusterra webhooks deliveries {name}")


def _edit(session: Session, webhook: str, edit: Mapping[str, object]) -> WebhookChanged:
    return session.client.webhooks.edit(the_webhook(session, webhook).id, edit)


def _warn(session: Session, changed: WebhookChanged) -> None:
    for each in changed.warnings:
        say(f"{session.screen.paint('!', 'yellow')} {tame(each)}", error=True)
