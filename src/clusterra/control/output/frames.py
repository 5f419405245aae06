"""What a job writes as a live stream spells it: `text/event-stream`, one line of JSON each.

Some clients take only the last `data:` line of an event, so there is never more than one. The `id`
is the place in the file after the piece: whoever comes back with it misses nothing.
"""

from base64 import b64encode

import msgspec

_json = msgspec.json.Encoder()


def piece(offset: int, data: bytes) -> bytes:
    """Tell bytes of the file, as text if they are text."""
    shown: dict[str, object] = {"offset": offset}
    try:
        shown["text"] = data.decode()
    except UnicodeDecodeError:
        shown["base64"] = b64encode(data).decode()
    return _event(b"output", shown, offset + len(data))


def reset(reason: str) -> bytes:
    """Tell that what comes next is the file from its beginning."""
    return _event(b"reset", {"offset": 0, "reason": reason}, 0)


def waiting(state: str) -> bytes:
    """Tell that there is no file yet."""
    return _event(b"waiting", {"state": state})


def end(size: int | None, state: str) -> bytes:
    """Tell that the job is over and all of the file was sent; `size` is None if there was none."""
    return _event(b"end", {"size": size, "state": state})


def error(code: str, detail: str) -> bytes:
    """Tell why it does not go on."""
    return _event(b"error", {"code": code, "detail": detail})


def _event(type: bytes, shown: dict[str, object], id: int | None = None) -> bytes:
    place = b"" if id is None else b"id: %d\n" % id
    return b"".join((place, b"event: ", type, b"\ndata: ", _json.encode(shown), b"\n\n"))
