"""`clusterra templates submit`: start a job, or a workflow, from a recipe."""

from typing import Any

import click

from clusterra.cli.jobs.asking import asking_options, variables
from clusterra.cli.jobs.follow import wait_for
from clusterra.cli.jobs.submit import hand_over, send
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.templates.values import values_options, wanted
from clusterra.cli.templates.workflows import told
from clusterra.client.client import new_key
from clusterra.core.words import count

_OF_VALUES = ("params", "inputs", "values_file", "override")


@click.command("submit")
@server_options
@click.argument("template")
@values_options
@asking_options
@click.option("--schedule", metavar="CRON", help="Start it again and again, in UTC: '0 6 * * 1'.")
@click.option("--wait", is_flag=True, help="Wait for its end, show its output, exit with its code.")
@json_option
@pass_session
def submit_template(
    session: Session,
    /,
    *,
    template: str,
    key: str | None,
    wait: bool,
    as_json: bool,
    **said: Any,
) -> None:
    """Start TEMPLATE with these values.

    What it asks Slurm for can be overridden as for any job.

    \b
      clusterra templates submit python-step --wait
      clusterra templates submit array-sweep -P values=1,2,3 --memory 500M
      clusterra templates submit custom-slurm -P script_body=@train.sh
    """
    body: dict[str, Any] = {
        "template_id": template,
        **wanted(**{name: said.pop(name) for name in _OF_VALUES}),
    }
    env = variables(said.pop("env"))
    body |= {
        name: value for name, value in {**said, "env": env or None}.items() if value is not None
    }
    if session.client.templates.show(template).kind == "workflow":
        _several(session, body, key=key, wait=wait, as_json=as_json)
    else:
        hand_over(session, body, key=key, wait=wait, as_json=as_json)


def _several(
    session: Session, body: dict[str, Any], *, key: str | None, wait: bool, as_json: bool
) -> None:
    cluster = session.cluster_id()
    accepted = send(session, cluster, body, key or new_key())
    if as_json and not wait:
        session.say_answer()
        return
    steps = accepted.steps or []
    say(
        f"Workflow {accepted.workflow_id} submitted as {tame(accepted.user)}:"
        f" {count(len(steps), 'job')}",
        error=as_json,
    )
    for warning in accepted.warnings:
        say(f"  Note: {tame(warning)}", error=as_json)
    for step in steps:
        say(f"  {step.step_id:<16} job {step.job_id}  {step.template_id}", error=as_json)
    if not wait:
        say(f"Watch it:  clusterra templates workflows {accepted.workflow_id}", error=as_json)
        return
    code = 0
    for step in steps:
        say(session.screen.faint(f"— {step.step_id}, job {step.job_id}"), error=as_json)
        ended = wait_for(session, cluster, str(step.job_id), fresh=True, aside=as_json)
        code = code or ended
    view = session.client.templates.workflow(cluster, str(accepted.workflow_id))
    if as_json:
        session.say_answer()
    else:
        for line in told(view, session.screen):
            say(line)
    click.get_current_context().exit(code)
