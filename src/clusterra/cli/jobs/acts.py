"""`clusterra jobs hold|release|requeue|edit`: acts on jobs that exist."""

from collections.abc import Callable, Sequence

import click

from clusterra.cli.failures import complain, exit_code
from clusterra.cli.jobs.naming import complete
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.core.errors import ClusterraError, Unauthenticated, Unreachable
from clusterra.wire.jobs import EditJob, JobAct


def each_job(
    session: Session,
    jobs: Sequence[str],
    act: Callable[[str, str], JobAct],
    words: str,
    *,
    as_json: bool,
) -> None:
    """Do the same to each job; one that is refused does not keep the others from it."""
    cluster = session.cluster_id()
    refused: list[ClusterraError] = []
    for job in jobs:
        try:
            act(cluster, job)
        except (Unreachable, Unauthenticated):
            raise
        except ClusterraError as error:
            refused.append(error)
            complain(error)
        else:
            if as_json:
                session.say_answer()
            else:
                say(words.format(job=job))
    if refused:
        click.get_current_context().exit(exit_code(refused[0]))


def _act(name: str, sentence: str, done: str) -> click.Command:
    @click.command(name, help=sentence)
    @server_options
    @click.argument("job_ids", nargs=-1, required=True, metavar="JOB...", shell_complete=complete)
    @json_option
    @pass_session
    def command(session: Session, *, job_ids: tuple[str, ...], as_json: bool) -> None:
        each_job(
            session,
            job_ids,
            lambda cluster, job: session.client.act(cluster, job, name),
            done,
            as_json=as_json,
        )

    return command


hold = _act(
    "hold",
    "Keep waiting jobs from starting until they are released.",
    "Job {job} is held. Let it go with: clusterra jobs release {job}",
)
release = _act("release", "Let held jobs start again.", "Job {job} may start again.")
requeue = _act(
    "requeue",
    "Put jobs back into the queue; running ones are stopped first.",
    "Job {job} goes back into the queue.",
)


@click.command()
@server_options
@click.argument("job_id", metavar="JOB", shell_complete=complete)
@click.option("--name", help="New name.")
@click.option("--time", metavar="TIME", help="New time limit: 2h, 1:30:00, unlimited.")
@click.option("--priority", type=int, metavar="N", help="New priority; larger starts earlier.")
@json_option
@pass_session
def edit(
    session: Session,
    *,
    job_id: str,
    name: str | None,
    time: str | None,
    priority: int | None,
    as_json: bool,
) -> None:
    """Change a job's name, time limit or priority."""
    wanted = EditJob(name=name, time=time, priority=priority)
    if wanted == EditJob():
        raise click.UsageError("Say what to change: --name, --time or --priority.")
    each_job(
        session,
        [job_id],
        lambda cluster, job: session.client.edit(cluster, job, wanted),
        "Job {job} is changed. See it: clusterra jobs show {job}",
        as_json=as_json,
    )
