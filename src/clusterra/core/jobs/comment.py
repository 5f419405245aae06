"""The mark our submissions carry in Slurm's comment field.

One token without white space, `clusterra:run=<uuid>;note=<what the person wrote>`:
node scripts of the public data plane split it at `;` and `=`. It is how a job is
recognised as ours when the answer to its submission was lost.
"""

import re
from urllib.parse import quote, unquote

PREFIX = "clusterra:"

LONGEST = 1024
"""Bytes that Slurm takes as a comment, our mark included."""

_SPECIAL = re.compile(r"[\s;=%\x00-\x1f\x7f]")


def stamp(run_id: str, note: str = "") -> str:
    """Write the comment of a job submitted through us."""
    pairs = [f"run={run_id}"]
    if note:
        # Only what would break the token is escaped, so that the note keeps nearly all of the room.
        pairs.append(f"note={_SPECIAL.sub(lambda found: quote(found[0], safe=''), note)}")
    return PREFIX + ";".join(pairs)


def read(comment: str) -> tuple[str, str]:
    """Return the run id and the person's own comment; of a foreign comment, just the comment."""
    if not comment.startswith(PREFIX):
        return "", comment
    pairs = dict(pair.split("=", 1) for pair in comment[len(PREFIX) :].split(";") if "=" in pair)
    return pairs.get("run", ""), unquote(pairs.get("note", ""))
