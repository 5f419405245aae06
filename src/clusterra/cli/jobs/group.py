"""`clusterra jobs`: what can be done with jobs."""

import click

from clusterra.cli.lazy import Lazy, LazyGroup
from clusterra.cli.options import server_options

COMMANDS: dict[str, Lazy] = {
    "submit": Lazy("clusterra.cli.jobs.submit:submit", "Submit a script."),
    "list": Lazy("clusterra.cli.jobs.list:list_jobs", "Jobs, live and past, newest first."),
    "show": Lazy("clusterra.cli.jobs.show:show", "Everything about one job."),
    "why": Lazy("clusterra.cli.jobs.why:why", "Why a job waits, and what would start it sooner."),
    "diagnose": Lazy("clusterra.cli.jobs.diagnose:diagnose", "Why a job failed, and what helps."),
    "resubmit": Lazy("clusterra.cli.jobs.resubmit:resubmit", "Submit a failed job again, mended."),
    "cost": Lazy("clusterra.cli.jobs.cost:cost", "What a job costs, run by run."),
    "watch": Lazy("clusterra.cli.jobs.watch:watch", "Follow a job to its end, or the whole list."),
    "logs": Lazy("clusterra.cli.jobs.logs:logs", "What a job has written."),
    "artifacts": Lazy("clusterra.cli.jobs.artifacts:artifacts", "What a job left behind."),
    "timeline": Lazy("clusterra.cli.jobs.timeline:timeline", "What happened to one job, by step."),
    "cancel": Lazy("clusterra.cli.jobs.cancel:cancel", "Cancel jobs, by id or by query."),
    "hold": Lazy("clusterra.cli.jobs.acts:hold", "Keep waiting jobs from starting."),
    "release": Lazy("clusterra.cli.jobs.acts:release", "Let held jobs start again."),
    "requeue": Lazy("clusterra.cli.jobs.acts:requeue", "Put jobs back into the queue."),
    "edit": Lazy("clusterra.cli.jobs.acts:edit", "Change a job's name, time limit or priority."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS)
@server_options
def jobs() -> None:
    """Submit, list, watch and cancel jobs."""
