"""`clusterra webhooks verify`: why a signature does not fit, found out without a server."""

from pathlib import Path

import click
import msgspec

from clusterra.cli.options import pass_session, server_options
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.cli.webhooks.secrets import VARIABLE, given_secrets, read_bytes, secret_options
from clusterra.core.units import parse_duration
from clusterra.core.webhooks.verify import TOLERANCE, Verdict, explain

_REFUSED = 3
_FILE = click.Path(path_type=Path, allow_dash=True)


@click.command("verify")
@server_options
@secret_options
@click.option(
    "--headers",
    type=_FILE,
    required=True,
    metavar="FILE",
    help="The request's, as curl prints them.",
)
@click.option(
    "--body",
    type=_FILE,
    metavar="FILE",
    help="Its body, byte for byte. [what follows the empty line in --headers]",
)
@click.option("--tolerance", metavar="TIME", help="How far clocks may be apart: 2d. [5m]")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON object.")
@pass_session
@click.pass_context
def verify(
    context: click.Context,
    session: Session,
    /,
    *,
    secret: str | None,
    secret_file: Path | None,
    headers: Path,
    body: Path | None,
    tolerance: str | None,
    as_json: bool,
) -> None:
    """Check a request that a webhook got, and say why it is refused. Asks no server.

    \b
      clusterra webhooks verify --secret-file secret --headers headers.txt --body body.json

    Exits with 0 if the signature is right, and with 3 if it is not.
    """
    secrets = given_secrets(session, secret, secret_file)
    if not secrets:
        raise click.UsageError(f"Give the secret: --secret-file, --secret or {VARIABLE}.")
    leeway = TOLERANCE if tolerance is None else parse_duration(tolerance, at="--tolerance")
    text, sent = _request(headers, body)
    verdict = explain(text, sent, secrets, session.watch.now(), leeway)
    if as_json:
        say(msgspec.json.encode(verdict).decode())
    else:
        _tell(session, verdict)
    context.exit(0 if verdict.ok else _REFUSED)


def _request(headers: Path, body: Path | None) -> tuple[str, bytes]:
    head = read_bytes(headers, at="--headers")
    sent = None if body is None else read_bytes(body, at="--body")
    if sent is None:
        ends = [(head.find(end), end) for end in (b"\r\n\r\n", b"\n\n") if end in head]
        if not ends:
            raise click.UsageError("Give the body with --body: nothing follows the headers.")
        _, end = min(ends)
        head, _, sent = head.partition(end)
    return head.decode(errors="replace"), sent


def _tell(session: Session, verdict: Verdict) -> None:
    mark = session.screen.paint(*(("✓", "green") if verdict.ok else ("✗", "red")))
    say(f"{mark} {tame(verdict.says)}")
    if verdict.hint:
        say(f"  {tame(verdict.hint)}")
    if verdict.reason == "skew":
        say("  A request that was kept:  add --tolerance 30d")
