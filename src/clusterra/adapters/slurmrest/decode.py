"""Reading slurmrestd's JSON: only the members we use, whatever else there is.

The usual reply fits the typed decoder, which skips the other hundred members of a
job without looking. A reply that does not fit (a null, a string where a list
stood in another version) is read again member by member, and only what cannot be
understood is left at its default: one odd member must not hide a whole queue.

What the members mean for a job, a node or a partition is said in the files named
after those.
"""

from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, TypeAlias, TypeVar, final

import msgspec

S = TypeVar("S", bound=msgspec.Struct)

NO_VALUE = 0xFFFFFFFE
"""Slurm's 32-bit "not set"; what is above it means infinite, or the same in 64 bits."""

EPOCH = datetime.fromtimestamp(0, UTC)


@final
class Figure(msgspec.Struct, frozen=True, gc=False):
    """Slurm's way of writing a number that may be unset or infinite."""

    set: bool = True
    infinite: bool = False
    number: int | float | None = 0


Amount: TypeAlias = int | float | Figure | None
"""A number as one version or another writes it."""


def whole(amount: Amount) -> int | None:
    """Return the number; None if it is unset or infinite, however that was written."""
    if type(amount) is Figure:  # not isinstance: this runs ten times per job of a long list
        if amount.infinite or not amount.set:
            return None
        number = amount.number
    else:
        number = amount
    if number is None or number >= NO_VALUE:
        return None
    return number if type(number) is int else int(number)


def moment(amount: Amount) -> datetime | None:
    """Return a moment; None if it is unset or zero, which Slurm uses alike."""
    # Not by way of `whole`: half of what is read of a job are times, and half of those are zero.
    if type(amount) is Figure:
        number = amount.number
        if not number or amount.infinite or not amount.set:
            return None
    else:
        number = amount
    if number is None or not 0 < number < NO_VALUE:
        return None
    return _at(number if type(number) is int else int(number))


@lru_cache(maxsize=65536)
def _at(seconds: int) -> datetime:
    """Return the moment. Jobs share most of theirs: submitted, eligible and started in one second."""
    return datetime.fromtimestamp(seconds, UTC)


class Envelope(msgspec.Struct, frozen=True):
    """What surrounds every JSON reply."""

    meta: dict[str, Any] | None = None
    errors: list[dict[str, Any]] | None = None
    warnings: list[dict[str, Any]] | None = None


class ExitCode(msgspec.Struct, frozen=True, gc=False):
    class Signal(msgspec.Struct, frozen=True, gc=False):
        id: Amount = None

    return_code: Amount = None
    signal: Signal = Signal()


@cache
def _decoder(into: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(into)


def read_list(data: bytes | msgspec.Raw, into: type[S]) -> list[S]:
    """Read a list of objects. Raises msgspec.DecodeError only if it is not a list in JSON."""
    try:
        found: list[S] = _decoder(list[into]).decode(data)  # type: ignore[valid-type]  # S, at run time
    except msgspec.ValidationError:
        return [read(each, into) for each in msgspec.json.decode(data, type=list[msgspec.Raw])]
    return found


def read(data: bytes | bytearray | msgspec.Raw, into: type[S]) -> S:
    """Read an object. Raises msgspec.DecodeError only if it is not JSON."""
    try:
        found: S = _decoder(into).decode(data)
    except msgspec.ValidationError:
        return _understand(msgspec.json.decode(data), into)
    return found


def _understand(value: Any, into: type[S]) -> S:
    """Take from `value` every member that can be understood."""
    if not isinstance(value, dict):
        return into()
    members: dict[str, Any] = {}
    for field in msgspec.structs.fields(into):
        if field.encode_name in value:
            try:
                members[field.name] = _member(value[field.encode_name], field.type)
            except msgspec.ValidationError:
                continue
    return into(**members)


def _member(value: Any, wanted: Any) -> Any:
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        return _understand(value, wanted)
    if wanted == list[str] and isinstance(value, str):
        return [value]
    return msgspec.convert(value, wanted, strict=False)
