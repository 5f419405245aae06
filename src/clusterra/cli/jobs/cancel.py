"""`clusterra jobs cancel`: by id at once, by query after counting and asking."""

import click

from clusterra.cli.agree import agreed
from clusterra.cli.failures import pointed
from clusterra.cli.jobs.acts import each_job
from clusterra.cli.jobs.naming import complete
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.core.errors import Invalid
from clusterra.core.words import count
from clusterra.wire.jobs import CancelJobs, JobsCancelled

_NAMED = 10
"""How many of the jobs about to be cancelled are named."""


@click.command()
@server_options
@click.argument("job_ids", nargs=-1, metavar="[JOB]...", shell_complete=complete)
@click.option("--query", metavar="QUERY", help="Cancel every live job this finds.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="With --query: only count them.")
@json_option
@pass_session
def cancel(
    session: Session,
    *,
    job_ids: tuple[str, ...],
    query: str | None,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Cancel jobs: by their ids, or all that --query finds.

    A query is counted first and carried out after a yes.
    """
    if bool(job_ids) == (query is not None):
        raise click.UsageError("Name the jobs to cancel, or find them with --query: one of both.")
    if query is None:
        each_job(
            session,
            job_ids,
            session.client.cancel,
            "Job {job} is being cancelled.",
            as_json=as_json,
        )
        return
    try:
        _cancel_found(session, query, yes=yes, dry_run=dry_run, as_json=as_json)
    except Invalid as error:
        raise pointed(error, query) from None


def _cancel_found(session: Session, query: str, *, yes: bool, dry_run: bool, as_json: bool) -> None:
    cluster = session.cluster_id()
    found = session.client.cancel_jobs(cluster, CancelJobs(query=query, dry_run=True))
    if dry_run or found.count == 0:
        if as_json:
            session.say_answer()
        else:
            say(_found_words(found, query))
        return
    ask = "Cancel them?" if found.count > 1 else "Cancel it?"
    words = f"{_found_words(found, query)}."
    if not yes and not agreed(session, words, ask=ask, nothing="Nothing was cancelled."):
        return
    done = session.client.cancel_jobs(cluster, CancelJobs(query=query, dry_run=False))
    if as_json:
        session.say_answer()
    else:
        say(f"{count(done.count, 'job')} being cancelled.")
    for failure in done.failed:
        say(f"Job {failure.job_id}: {tame(failure.detail)}", error=True)
    if done.failed:
        click.get_current_context().exit(3)


def _found_words(found: JobsCancelled, query: str) -> str:
    if found.count == 0:
        return f"No live job matches `{query}`: there is nothing to cancel."
    named = ", ".join(str(id) for id in found.job_ids[:_NAMED])
    more = " …" if found.count > _NAMED else ""
    verb = "matches" if found.count == 1 else "match"
    return f"{count(found.count, 'live job')} {verb} `{query}`: {named}{more}"
