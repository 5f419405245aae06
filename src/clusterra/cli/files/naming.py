"""Names of files there, as people type them: `data/run7/reads.fq`."""

from clusterra.core.errors import Invalid
from clusterra.wire.files import FilePlace

LOCATIONS = ("scripts", "data", "outputs", "shared")


def remote(text: str) -> FilePlace:
    """Read a place there; the first part is the location."""
    location, _, path = text.removeprefix("./").partition("/")
    if location not in LOCATIONS:
        raise Invalid(
            f"{text!r} begins with none of the locations there are.",
            hint=f"Begin with {', '.join(LOCATIONS[:-1])} or {LOCATIONS[-1]}, as data/{text.lstrip('/')}",
            at="path",
        )
    return FilePlace(location=location, path=path)


def below(place: FilePlace, name: str) -> FilePlace:
    """Return what has this name in a folder."""
    folder = place.path.rstrip("/")
    return FilePlace(location=place.location, path=f"{folder}/{name}" if folder else name)


def is_folder(place: FilePlace) -> bool:
    return not place.path or place.path.endswith("/")


def spelled(place: FilePlace) -> str:
    return f"{place.location}/{place.path}"
