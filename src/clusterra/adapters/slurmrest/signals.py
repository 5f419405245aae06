"""Signals, checked before Slurm sees them: cancelling with one it does not know kills the job."""

import signal

from clusterra.core.errors import Invalid


def known_signal(name: str) -> str:
    """Return the signal's full name, as `SIGUSR1` for `usr1` or `10`."""
    word = name.strip().upper().removeprefix("SIG")
    try:
        found = signal.Signals(int(word)) if word.isdigit() else signal.Signals[f"SIG{word}"]
    except (KeyError, ValueError):
        raise Invalid(
            f"There is no signal {name!r}.",
            hint="Use a name such as TERM, KILL, INT or USR1.",
            at="signal",
        ) from None
    return found.name
