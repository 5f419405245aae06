"""`clusterra events verify`: hold a ledger to its hashes, its signatures and our memory of it.

The checking is done here and not by the server, which could say anything.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

from clusterra.cli.events.remembered import place, recall, remember
from clusterra.cli.options import pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.core.errors import Invalid
from clusterra.core.events.checkpoint import Key, Unreadable, read_key, read_note
from clusterra.core.events.reading import Reading, Verdict, read
from clusterra.core.events.verify import Memory, Report, judge

_SHOWN = {
    Verdict.INTACT: ("✓ Intact", "green"),
    Verdict.TAMPERED: ("✗ Tampered with", "red"),
    Verdict.INCOMPLETE: ("! Incomplete", "yellow"),
}


@click.command("verify")
@server_options
@click.argument("file", required=False, type=click.Path(path_type=Path), metavar="[FILE]")
@click.option("--key", "named", metavar="KEY", help="The public key that the ledger must have.")
@click.option(
    "--offline", is_flag=True, help="Read the database in --state itself, without a server."
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON object.")
@pass_session
@click.pass_context
def verify_events(
    context: click.Context,
    session: Session,
    /,
    *,
    file: Path | None,
    named: str | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Check that nothing in the ledger was changed, moved or taken away.

    Reads an export, or the server's ledger if no FILE is named. Exits with 0 if it is
    intact, 1 if it was tampered with, 2 if something is missing. What was seen of a
    ledger is remembered on this machine, and the ledger is held to it the next time.
    """
    key = _key(named)
    try:
        reading = read(_lines(session, file, offline=offline))
    except Unreadable as error:
        raise Invalid(
            f"This is not a ledger that can be verified. {error}",
            hint="Make an export with: clusterra events export -o FILE",
        ) from None
    kept = place(session.environ, reading.header.cluster)
    memory = recall(kept)
    if key:
        memory = replace(memory, key=key)
    report = judge(reading, memory=_relevant(memory, reading, all_of_it=file is None))
    if report.verdict is Verdict.INTACT:
        remember(kept, report, memory)
    if as_json:
        say(msgspec.json.encode(_as_json(report)).decode())
    else:
        _tell(report, memory, session, kept)
    context.exit(int(report.verdict))


def _key(named: str | None) -> Key | None:
    try:
        return read_key(named) if named else None
    except Unreadable as error:
        raise Invalid(
            f"This is not a public key. {error}",
            hint="It looks like clusterra/clus1a2b+5e8f1c20+AV… ; the server names it at"
            " GET /v1/clusters/{id}/events/checkpoints.",
        ) from None


def _lines(session: Session, file: Path | None, *, offline: bool) -> Iterator[bytes]:
    if file is not None:
        return _file_lines(file)
    if offline:
        # Only here are the server's own parts needed.
        from clusterra.cli.events.offline import export_offline  # noqa: PLC0415

        return export_offline(session)
    return session.client.export(session.cluster_id())


def _file_lines(file: Path) -> Iterator[bytes]:
    try:
        with file.open("rb") as lines:
            for line in lines:
                yield line.removesuffix(b"\n")
    except OSError as error:
        raise Invalid(
            f"{file} cannot be read: {error.strerror}.", hint="Name the file of an export."
        ) from None


def _relevant(memory: Memory, reading: Reading, *, all_of_it: bool) -> Memory:
    """Return what is remembered that this must show: a file may be older than our memory."""
    if all_of_it or not memory.checkpoint:
        return memory
    newer = read_note(memory.checkpoint).checkpoint.size > reading.header.last
    return replace(memory, checkpoint="") if newer else memory


def _tell(report: Report, memory: Memory, session: Session, kept: Path) -> None:
    screen = session.screen
    words, colour = _SHOWN[report.verdict]
    span = f"events {report.first:,} to {report.last:,}" if report.events else "no events yet"
    say(f"{screen.paint(words, colour)}: {span} of {tame(report.cluster)}.")
    for finding in report.findings:
        say(f"  {tame(finding.says)}")
    if report.newest:
        checkpoint = report.newest.checkpoint
        say(screen.faint(f"  Signed up to {checkpoint.size:,} {checkpoint.when}."))
    if memory.key is None:
        say(screen.faint(f"  Its key was not known here before: {tame(report.key)}"))
    elif any(finding.what == "unknown-key" for finding in report.findings):
        say(f"  If you know why its key is another one, remove {kept} and verify again.")


def _as_json(report: Report) -> dict[str, Any]:
    checkpoint = report.newest.checkpoint if report.newest else None
    return {
        "verdict": report.verdict.name.lower(),
        "cluster": report.cluster,
        "first": report.first,
        "last": report.last,
        "events": report.events,
        "key": report.key,
        "signed": checkpoint.size if checkpoint else 0,
        "signed_at": checkpoint.at if checkpoint else None,
        "root": checkpoint.root.hex() if checkpoint else None,
        "findings": [
            {
                "what": finding.what,
                "verdict": finding.verdict.name.lower(),
                "says": finding.says,
                "first": finding.first,
                "last": finding.last,
            }
            for finding in report.findings
        ],
    }
