"""`clusterra automations add`."""

from typing import Any

import click

from clusterra.cli.automations.wanting import wanted, wanting_options
from clusterra.cli.automations.words import bounds, does
from clusterra.cli.interest import in_words
from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.webhooks.naming import the_webhook
from clusterra.cli.which_one import called


@click.command("add")
@server_options
@wanting_options
@click.option("--try-out", is_flag=True, help="Only note what it would do; turn it on later.")
@workspace_option
@json_option
@pass_session
def add_automation(session: Session, /, *, try_out: bool, as_json: bool, **said: Any) -> None:
    """Have something done when something happens, in your name and with your rights.

    \b
      clusterra automations add --when job.out_of_memory --retry --most 2
      clusterra automations add --when job.failed --job-name 'align-*' --notify slack
      clusterra automations add --when job.completed --job-name align --submit next.sh
      clusterra automations add --file rule.json

    In a script, {{job.id}} is the job that it answers, and so on; the same values are in its
    environment, as CLUSTERRA_CAUSE_JOB_ID. `automations dry-run` says what it would have done.
    """
    body = with_webhooks(session, wanted(said))
    if session.named_workspace():
        body["workspace"] = session.the_workspace().id
    if try_out:
        body["state"] = "dry_run"
    made = session.client.automations.add(body)
    if as_json:
        session.say_answer()
        return
    say(f"{tame(made.name)} ({made.id}): when {in_words(made.when)}, {does(made)}.")
    say(f"  It acts {bounds(made)}.")
    if made.state != "on":
        say(f"  It is only tried out.  Let it act:  clusterra automations on {called(made)}")
    say(f"  Next:  clusterra automations dry-run {called(made)}")


def with_webhooks(session: Session, body: dict[str, Any]) -> dict[str, Any]:
    """Return the request with the ids of webhooks that were called by their names."""
    actions = body.get("do")
    if not isinstance(actions, list):
        return body
    body["do"] = [
        {
            act: webhook_id(session, said) if act in ("notify", "call") else said
            for act, said in each.items()
        }
        if isinstance(each, dict)
        else each
        for each in actions
    ]
    return body


def webhook_id(session: Session, said: Any) -> Any:
    if not isinstance(said, str) or said.startswith("whk_"):
        return said
    return the_webhook(session, said).id
