"""Events as a live stream spells them: `text/event-stream`, with the stored bytes as they are.

The JSON that the ledger holds has no line break in it, so it is always one `data:` line.
"""

from clusterra.core.events.event import Event

TYPE = "text/event-stream"

RETRY = b"retry: 2000\n\n"
"""How long a client waits, in milliseconds, before it connects again."""

BEAT = b":\n\n"
"""A comment: proxies see that the connection lives, and clients that we do."""


def frame(event: Event) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.type.encode(), event.body)


def position(seq: int) -> bytes:
    """Tell a client where it stands without sending it an event."""
    return b"id: %d\n\n" % seq


def reset(oldest: int, newest: int) -> bytes:
    """Tell a client that what it asked for cannot be read here; `oldest` comes next."""
    return b'event: reset\ndata: {"oldest":%d,"newest":%d}\n\n' % (oldest, newest)
