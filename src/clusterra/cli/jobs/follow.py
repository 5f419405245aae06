"""Follow a job, or an array of them, to its end.

Watching never changes anything: Ctrl-C stops the watching and says that the job
goes on. A server that is away for a moment (restarted, say) is waited for; the
job does not depend on it.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TypeVar

from clusterra.cli.jobs.output import Output
from clusterra.cli.jobs.telling import (
    cost_words,
    ending,
    handle,
    has_ended,
    output_name,
    own_code,
    remark,
)
from clusterra.cli.live import TICK, LiveLine
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.words import StateWords, state_words
from clusterra.core.errors import ClusterraError, NotFound, Unreachable
from clusterra.core.words import count
from clusterra.wire.jobs import JobPage, JobView

T = TypeVar("T")

_PATIENCE = timedelta(seconds=60)
"""How long a server may be away before watching gives up: a restart takes a few seconds."""

_SETTLING = timedelta(seconds=10)
"""How long a job just submitted may take to be found."""

_AWAY = StateWords(mark="?", short="no answer", colour="red")
_SUBMITTED = state_words("PENDING")


def wait_for(
    session: Session,
    cluster: str,
    job: str,
    *,
    fresh: bool = False,
    aside: bool = False,
    as_json: bool = False,
) -> int:
    """Follow a job to its end, tell it, and return the exit code that says how it went.

    `fresh` says it was submitted a moment ago; `aside` leaves stdout to the job's output.
    """
    line = LiveLine(screen=session.screen_for(aside=aside), aside=aside)
    follower = Follower(session, cluster, line)
    try:
        seen = follower.find(job, fresh=fresh)
        if seen.array_id is not None and str(seen.array_id) == job:
            code = follower.array(job, as_json=as_json)
        else:
            code = follower.job(seen, as_json=as_json)
    except KeyboardInterrupt:
        line.stop()
        say(
            f"Stopped watching; job {job} goes on. Cancel it with: clusterra jobs cancel {job}",
            error=True,
        )
        return 130
    except Exception:
        line.stop()
        raise
    return code


class Follower:
    def __init__(self, session: Session, cluster: str, line: LiveLine) -> None:
        self._session = session
        self._cluster = cluster
        self._line = line
        self._began = session.watch.now()
        self._output = Output(session=session, cluster=cluster, line=line)

    def find(self, job: str, *, fresh: bool) -> JobView:
        while True:
            try:
                return self._look(job)
            except NotFound:
                if not fresh or self._watched_for() > _SETTLING:
                    raise
                self._rest(_SUBMITTED, "Slurm has it; it will be seen in a moment", self._began)

    def job(self, job: JobView, *, as_json: bool) -> int:
        while not has_ended(job):
            words = state_words(job.state, job.flags, job.reason)
            since = (job.started_at if job.state != "PENDING" else None) or job.submitted_at
            self._rest(words, remark(job, self._session.watch.now()), since)
            before, job = job, self._look(handle(job))
            # First that it runs, then what it says.
            if not as_json and before.state != "PENDING" and not has_ended(job):
                self._output.show_new(job)
        self._line.stop()
        if as_json:
            self._session.say_answer()
        else:
            self._tell_end(job)
        return own_code(job)

    def array(self, array: str, *, as_json: bool) -> int:
        """Follow every task; the code is 0 if all completed, else that of the first that did not."""
        while (progress := self._array_progress(array)) is not None:
            self._rest(*progress, self._began)
        self._line.stop()
        tasks = self._tasks(array, as_json=as_json)
        bad = [task for task in tasks if own_code(task)]
        if not as_json:
            say(_array_end(array, tasks, bad), error=self._line.aside)
        return own_code(bad[0]) if bad else 0

    def _tasks(self, array: str, *, as_json: bool) -> list[JobView]:
        tasks: list[JobView] = []
        page = self._page(array, None)
        while True:
            if as_json:
                self._session.say_answer()
            tasks += page.jobs
            if page.next is None:
                return tasks
            page = self._page(array, page.next)

    def _page(self, array: str, cursor: str | None) -> JobPage:
        ask = self._session.client.jobs
        query = f"array:{array}"
        return self._ask(lambda: ask(self._cluster, query, sort="id", limit=200, cursor=cursor))

    def _array_progress(self, array: str) -> tuple[StateWords, str] | None:
        """Say how far the array is; None when none of its tasks is left to wait for."""
        ask = self._session.client.jobs
        live = self._ask(lambda: ask(self._cluster, f"array:{array} state:live", limit=200))
        ended = self._ask(lambda: ask(self._cluster, f"array:{array} state:ended", limit=1)).total
        if live.total == 0 and ended:
            return None
        waiting = [job.label for job in live.jobs if job.state == "PENDING"]
        started = live.total - len(waiting)
        parts = (
            f"{started} running" if started else "",
            f"waiting: {', '.join(waiting)}" if waiting else "",
            f"{ended} ended" if ended else "",
        )
        words = state_words("RUNNING" if started else "PENDING")
        return words, " · ".join(part for part in parts if part)

    def _tell_end(self, job: JobView) -> None:
        size = self._output.show_rest(job)
        words = state_words(job.state)
        screen = self._line.screen
        head = screen.paint(f"{words.mark} {ending(job)}", words.colour)
        say(f"{head}{_cost(job)}{_output_words(job, size)}", error=self._line.aside)
        for each in self._left_behind(job):
            say(each, error=self._line.aside)
        if own_code(job):
            say(f"What happened:  clusterra jobs show {handle(job)}", error=self._line.aside)

    def _left_behind(self, job: JobView) -> Iterator[str]:
        """Say what a job from a recipe has left, if that is to be had from here."""
        if not job.template:
            return
        # Only recipes declare what they leave; other jobs should not wait for this.
        from clusterra.cli.jobs.artifacts import told  # noqa: PLC0415

        with suppress(ClusterraError):
            yield from told(self._session, self._cluster, handle(job))

    def _look(self, job: str) -> JobView:
        return self._ask(lambda: self._session.client.job(self._cluster, job))

    def _ask(self, question: Callable[[], T]) -> T:
        """Ask until there is an answer, as long as the server is not away for too long."""
        away_since: datetime | None = None
        while True:
            try:
                return question()
            except Unreachable:
                now = self._session.watch.now()
                away_since = away_since or now
                if now - away_since > _PATIENCE:
                    raise
                self._rest(_AWAY, "Clusterra does not answer; asking again", away_since)

    def _rest(self, words: StateWords, note: str, since: datetime) -> None:
        """Show how things are until it is time for the next look."""
        watch = self._session.watch
        self._line.tell(words, note, watch.now() - since)
        pause = self._pace()
        if not self._line.screen.live:
            watch.wait(pause)
            return
        for _ in range(round(pause / TICK)):
            watch.wait(TICK)
            self._line.tell(words, note, watch.now() - since)

    def _pace(self) -> float:
        """Return the seconds until the next look: short while news is likely."""
        watched = self._watched_for().total_seconds()
        return 0.5 if watched < 60 else 1.0 if watched < 600 else 3.0

    def _watched_for(self) -> timedelta:
        return self._session.watch.now() - self._began


def _cost(job: JobView) -> str:
    return f" · {cost_words(job)}" if job.cost_final and job.cost_micros is not None else ""


def _output_words(job: JobView, size: str) -> str:
    if not job.stdout:
        return ""
    name = tame(output_name(job))
    return f" · output {name} ({size or 'on the cluster'})"


def _array_end(array: str, tasks: list[JobView], bad: list[JobView]) -> str:
    if not bad:
        return f"✓ all {count(len(tasks), 'task')} completed · clusterra jobs list array:{array}"
    return (
        f"✗ {len(bad)} of {count(len(tasks), 'task')} did not complete · "
        f"clusterra jobs list array:{array} -state:completed"
    )
