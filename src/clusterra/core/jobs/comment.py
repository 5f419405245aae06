"""The mark our submissions carry in Slurm's comment field.

One token without white space, `clusterra:run_id=<uuid>;note=<what the person wrote>`:
node scripts of the public data plane split it at `;` and `=`. It is how a job is
recognised as ours when the answer to its submission was lost, and how one knows which
recipe and which workflow it belongs to.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

PREFIX = "clusterra:"

LONGEST = 1024
"""Bytes that Slurm takes as a comment, our mark included."""

_SPECIAL = re.compile(r"[\s;=%\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    run_id: str = ""
    note: str = ""
    """What the person wrote."""

    template: str = ""
    chain: str = ""
    """The workflow that the job is a step of."""

    step: str = ""


_NONE = Mark()


def stamp(mark: Mark) -> str:
    """Write the comment of a job submitted through us."""
    pairs = [f"run_id={mark.run_id}"]
    pairs += [
        f"{name}={value}"
        for name, value in (
            ("template", mark.template),
            ("chain", mark.chain),
            ("step", mark.step),
            # Only what would break the token is escaped: the note keeps nearly all of the room.
            ("note", _SPECIAL.sub(lambda found: quote(found[0], safe=""), mark.note)),
        )
        if value
    ]
    return PREFIX + ";".join(pairs)


def read(comment: str) -> Mark:
    """Return what a comment says; of a foreign one, just the comment."""
    if not comment:
        return _NONE
    if not comment.startswith(PREFIX):
        return Mark(note=comment)
    pairs = dict(pair.split("=", 1) for pair in comment[len(PREFIX) :].split(";") if "=" in pair)
    return Mark(
        # Jobs of earlier versions say `run`.
        run_id=pairs.get("run_id", "") or pairs.get("run", ""),
        note=unquote(pairs.get("note", "")),
        template=pairs.get("template", ""),
        chain=pairs.get("chain", ""),
        step=pairs.get("step", ""),
    )
