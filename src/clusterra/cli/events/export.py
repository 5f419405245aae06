"""`clusterra events export`: the ledger in a file that can be verified anywhere."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from clusterra.cli.options import pass_session, server_options
from clusterra.cli.screen import say
from clusterra.cli.session import Session
from clusterra.core.errors import Refused


@click.command("export")
@server_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to write it. [default: stdout]",
)
@click.option("--after", type=click.IntRange(min=0), metavar="N", help="Begin after event N.")
@click.option("--until", type=click.IntRange(min=0), metavar="N", help="End with event N.")
@pass_session
def export_events(
    session: Session, *, output: Path | None, after: int | None, until: int | None
) -> None:
    """Save the ledger with its hashes and checkpoints.

    What was saved is verified without a server: clusterra events verify FILE
    """
    lines = session.client.export(session.cluster_id(), after=after, until=until)
    if output is None:
        _write(lines, sys.stdout.buffer)
        return
    # Only what arrived whole gets the name.
    beside = output.with_name(f".{output.name}.part")
    try:
        with beside.open("wb") as file:
            events = _write(lines, file)
        beside.replace(output)
    except OSError as error:
        raise Refused(
            f"{output} cannot be written: {error.strerror}.", hint="Choose another place with -o."
        ) from None
    finally:
        beside.unlink(missing_ok=True)
    say(f"{events:,} events in {output}.   Verify them with: clusterra events verify {output}")


def _write(lines: Iterator[bytes], file: BinaryIO) -> int:
    events = 0
    for line in lines:
        events += not line.startswith(b"{")
        file.write(line + b"\n")
    file.flush()
    return events
