"""Run the certified provider for as long as a test needs one.

    with certified_provider(
        redirect_uris=["http://127.0.0.1:8420/auth/callback"],
        accounts={"ana@lab.example": {"name": "Ana", "groups": ["hpc-admins"]}},
    ) as provider:
        back = provider.sign_in(url, "ana@lab.example")

`url` is where an application sends the browser; `back` is where the provider sends it then,
with `code` and `state`. In a real browser: fill in `login`, press `Continue`; to sign out,
press `Sign out`.
"""

import json
import selectors
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.provider.node import node, script
from tests.provider.visitor import Visitor

CLIENT_ID = "clusterra"
CLIENT_SECRET = "a+secret/with%odd:characters="


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    issuer: str
    client_id: str
    client_secret: str

    def visitor(self) -> Visitor:
        """Return somebody with no cookies yet."""
        return Visitor(self.issuer)

    def sign_in(self, url: str, login: str, *, visitor: Visitor | None = None) -> str:
        """Go where the application sends us and sign in; return where that sends us back.

        A visitor who signed in before is not asked again, as in a browser.
        """
        visitor = visitor or self.visitor()
        page = visitor.go(url)
        if not page.lstrip().startswith("<"):
            return page
        return visitor.press("Continue", page, login=login)

    def sign_out(self, url: str, *, visitor: Visitor) -> str:
        return visitor.press("Sign out", visitor.go(url))

    def rotate(self, *, forget: bool = False) -> None:
        """Sign with a new key from now on; `forget` also withdraws the old ones."""
        self._tell("rotate", {"forget": forget})

    def change(self, login: str, **claims: Any) -> None:
        """Say something else about somebody from now on; their subject stays."""
        self._tell("account", {"login": login, "claims": claims})

    def _tell(self, what: str, message: Mapping[str, Any]) -> None:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        data = json.dumps(message).encode()
        opener.open(f"{self.issuer}/test/{what}", data=data, timeout=10).close()


@contextmanager
def certified_provider(
    *,
    redirect_uris: Sequence[str],
    accounts: Mapping[str, Mapping[str, Any]],
    post_logout_redirect_uris: Sequence[str] = (),
    thin: bool = False,
) -> Iterator[Certified]:
    """Run a provider that knows one application and these people.

    Claims of an account are `name`, `groups` and whatever else it shall say; `email` is its key
    and `email_verified` true unless told otherwise. A `thin` one has them at userinfo only.
    """
    told = {
        "client": {
            "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET,
            "redirect_uris": list(redirect_uris),
            "post_logout_redirect_uris": list(post_logout_redirect_uris),
        },
        "accounts": accounts,
        "thin": thin,
    }
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            [node().node, str(script()), json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
        ) as process,
    ):
        try:
            line = _first_line(process)
            if not line:
                complaints.seek(0)
                raise RuntimeError(f"the provider did not start: {complaints.read().decode()}")
            issuer = json.loads(line)["issuer"]
            yield Certified(issuer=issuer, client_id=CLIENT_ID, client_secret=CLIENT_SECRET)
        finally:
            process.kill()


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        return process.stdout.readline() if selector.select(timeout=30) else b""
