"""`clusterra events follow`: what happens, as it happens.

A server that restarts, and a connection that breaks, are waited for: every event has a
number, so following goes on where it was cut off, and nothing is missed.
"""

from collections.abc import Callable

import click
import msgspec

from clusterra.cli.amounts import moment
from clusterra.cli.events.words import about, colour_of, sentence, which, which_options
from clusterra.cli.options import pass_session, server_options
from clusterra.cli.screen import Screen, cut_end, pad, say, tame
from clusterra.cli.session import Session
from clusterra.client.client import WhichEvents
from clusterra.client.stream import Told
from clusterra.core.errors import Unreachable
from clusterra.wire.events import EventView

RESET = "reset"

_TYPE_WIDTH = 19
_SUBJECT_WIDTH = 10
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 15.0


@click.command("follow")
@server_options
@which_options
@click.option("--since", default="", metavar="WHEN", help="Begin with what happened then: 2h.")
@click.option("--after", type=click.IntRange(min=0), metavar="N", help="Begin after event N.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON event per line.")
@pass_session
def follow_events(
    session: Session,
    *,
    types: tuple[str, ...],
    subject: str,
    actor: str,
    since: str,
    after: int | None,
    as_json: bool,
) -> None:
    """Print what happens, as it happens, until Ctrl-C."""
    wanted = which(types=types, subject=subject, actor=actor, since=since)
    if since and after is None:
        after = 0

    def tell(told: Told) -> None:
        if as_json:
            say(told.data.decode(errors="replace"))
            return
        event = msgspec.json.decode(told.data, type=EventView)
        say(line(event, session.screen, moment(event.time, session.watch.now())))

    Following(session, session.cluster_id(), wanted, after, tell).run()


class Following:
    def __init__(
        self,
        session: Session,
        cluster: str,
        wanted: WhichEvents,
        after: int | None,
        tell: Callable[[Told], None],
    ) -> None:
        """Have each event that is `wanted` told, once."""
        self._session = session
        self._cluster = cluster
        self._wanted = wanted
        self._after = after
        self._tell = tell
        self._pause = _FIRST_PAUSE
        self._cut_off = False

    def run(self) -> None:
        """Follow for ever; raise what will not mend itself, and what went wrong at the start."""
        began = False
        while True:
            why = "The server ended the stream."
            try:
                for told in self._session.client.follow(
                    self._cluster, self._wanted, after=self._after
                ):
                    began = True
                    self._hear(told)
            except Unreachable as error:
                if not began:
                    raise
                why = error.detail
            self._rest(why)

    def _hear(self, told: Told) -> None:
        if self._cut_off:
            say(f"Connected again{self._place()}.", error=True)
        self._cut_off, self._pause = False, _FIRST_PAUSE
        if told.seq is not None:
            self._after = told.seq
        if told.type == RESET:
            self._tell_reset(told)
        elif told.type:
            self._tell(told)

    def _tell_reset(self, told: Told) -> None:
        known = msgspec.json.decode(told.data, type=dict[str, int])
        self._after = known["oldest"] - 1
        say(
            f"What you asked for is not in the ledger; it begins with event {known['oldest']} "
            f"and ends with {known['newest']}. Going on from the first.",
            error=True,
        )

    def _rest(self, why: str) -> None:
        if not self._cut_off:
            say(f"{tame(why)} Connecting again{self._place()}.", error=True)
        self._cut_off = True
        self._session.watch.wait(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def _place(self) -> str:
        return "" if self._after is None else f" after event {self._after}"


def line(event: EventView, screen: Screen, when: str) -> str:
    kind = screen.paint(pad(event.type, _TYPE_WIDTH), colour_of(event))
    what = pad(tame(about(event)), _SUBJECT_WIDTH)
    said = tame(sentence(event))
    if screen.live:
        room = screen.width - len(when) - _TYPE_WIDTH - max(len(what), _SUBJECT_WIDTH) - 6
        said = cut_end(said, room)
    return f"{screen.faint(when)}  {kind}  {what}  {said}"
