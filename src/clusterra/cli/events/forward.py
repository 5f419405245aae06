"""Hand an event to a program on this machine, as a webhook would: signed, and one line about it."""

import secrets
from pathlib import Path

from clusterra.cli.screen import Screen, cut_end, pad, say, tame
from clusterra.cli.session import Session
from clusterra.cli.webhooks.secrets import VARIABLE, given_secrets
from clusterra.client.post import Post, Posted
from clusterra.core.webhooks.sign import SECRET_BYTES, read_secret, secret_from, signed_headers

_TYPE_WIDTH = 19


class Forward:
    """Where to, and signed with what. Invalid if either is wrong."""

    def __init__(self, session: Session, url: str, signing: list[str]) -> None:
        self._session = session
        self._keys = [read_secret(each) for each in signing]
        self._post = Post(url)

    @property
    def url(self) -> str:
        return self._post.url

    def send(self, id: str, body: bytes) -> Posted:
        headers = signed_headers(id, self._session.watch.now(), body, self._keys)
        return self._post.send(body, {**headers, "User-Agent": "clusterra-listen"})


def signing_secrets(
    session: Session, secret: str | None, file: Path | None
) -> tuple[list[str], bool]:
    """Return what to sign with, and whether it had to be made."""
    if given := given_secrets(session, secret, file):
        return given, False
    return [secret_from(secrets.token_bytes(SECRET_BYTES))], True


def say_secret(session: Session, made: str) -> None:
    say(f"Signed with a secret made for this run: {session.screen.paint(made, bold=True)}")
    say(f"  To keep it:  export {VARIABLE}={made}")


def line(type: str, about: str, posted: Posted, screen: Screen) -> str:
    """Return one event and its answer: `✓ job.failed  job/41  200 OK in 3 ms`."""
    mark = screen.paint(*(("✓", "green") if posted.is_success else ("✗", "red")))
    if posted.status is None:
        what = posted.why
    else:
        what = f"{posted.status} {posted.phrase}".rstrip() + f" in {posted.took * 1000:.0f} ms"
        if not posted.is_success and posted.said:
            first = posted.said.decode(errors="replace").strip().partition("\n")[0]
            what += f": {first}"
    told = f"{pad(tame(type), _TYPE_WIDTH)}  {pad(tame(about), 10)}  {tame(what)}"
    return f"{mark} {cut_end(told, screen.width - 2)}"
