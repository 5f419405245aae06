"""A server as a process of its own, and the terminals and browsers that come to it.

Its cluster cannot be reached. That is on purpose: whoever wants to sign in does not wait for
Slurm.
"""

import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster import CLUSTERRA
from tests.provider.run import Certified

if TYPE_CHECKING:
    from playwright.sync_api import Page

PROVIDER = "Lab SSO"
REFUSED = ("status of 401", "status of 403")
"""Chromium calls a page that comes with a refusal an error; where that is the promise."""

_SETTINGS = """
[server]
owner = "pi@lab.example"
{oidc}
[[workspaces]]
id = "lab"
name = "The lab"
domains = ["lab.example"]
groups = {{ "hpc-admins" = "admin", "guests" = "viewer" }}

[[clusters]]
id = "away"
name = "far-away"
slurm = "http://127.0.0.1:1"
jwt_key = "{key}"
"""

_OIDC = """
[oidc]
issuer = "{issuer}"
client_id = "{client_id}"
client_secret_file = "{secret}"
name = "{name}"
scopes = ["openid", "email", "profile", "groups"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Somebody's own machine: it remembers what they signed in to, and nothing of others."""

    home: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def credentials(self) -> Path:
        return self.home / "config/clusterra/credentials.json"

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*CLUSTERRA, *arguments],
            env=self._environ(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def ok(self, *arguments: str) -> str:
        """Run a command that has to succeed; return what it prints."""
        done = self.run(*arguments)
        if done.returncode:
            pytest.fail(f"clusterra {' '.join(arguments)}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def answer(self, *arguments: str) -> Any:
        return json.loads(self.ok(*arguments, "--json"))

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command that waits for somebody."""
        return subprocess.Popen(
            [*CLUSTERRA, *arguments],
            env=self._environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def let_access_end(self, url: str) -> None:
        """Have this terminal believe that its access token has run out."""
        kept = json.loads(self.credentials.read_text())
        kept["sessions"][url]["ends_at"] = "2026-01-01T00:00:00Z"
        self.credentials.write_text(json.dumps(kept))

    def _environ(self) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if "CLUSTERRA" not in name}
        return {
            **ours,
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_DATA_HOME": str(self.home / "data"),
            **self.variables,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A `clusterra login` that waits to be approved."""

    process: subprocess.Popen[str]
    code: str
    address: str

    def ended(self) -> tuple[int, str, str]:
        said, complained = self.process.communicate(timeout=30)
        return self.process.returncode, said, complained


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A server that people sign in to."""

    url: str
    state: Path
    homes: Path
    provider: str = PROVIDER
    """What people call it, and what is on the button."""
    begun: list[subprocess.Popen[str]] = field(default_factory=list)

    def terminal(self, name: str, **variables: str) -> Terminal:
        return Terminal(home=self.homes / name, variables=variables)

    @property
    def owner(self) -> Terminal:
        """Whoever runs the server: let in by the token in its state directory."""
        return self.terminal("owner", CLUSTERRA_STATE=str(self.state))

    def audit(self, type: str, *, email: str = "") -> list[dict[str, Any]]:
        """Return what the ledger tells of this type, and somebody, newest first."""
        events = self.owner.answer("audit", "--type", type)["events"]
        return [each for each in events if email in ("", each["data"].get("email"))]

    def begin_login(self, terminal: Terminal) -> Login:
        """Ask to be let in. (A server lets one address ask ten times a minute.)"""
        process = terminal.begin("login", self.url)
        self.begun.append(process)
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if found := re.search(r"approve (\S+) at (\S+)", line):
                [address] = re.findall(r"^ +(http\S+)$", said, re.MULTILINE)
                assert found[2] == f"{self.url}/device"
                return Login(process=process, code=found[1], address=address)
        _, complained = process.communicate(timeout=30)
        pytest.fail(f"clusterra login asked for no approval: {said}{complained}")

    def close(self) -> None:
        """End what still waits, after a test that failed before it was approved."""
        for process in self.begun:
            with process:  # also closes what it said
                process.kill()

    def sign_in(self, page: "Page", email: str) -> None:
        """Sign in by the provider, from the first page on, whatever comes of it."""
        page.goto(self.url)
        page.get_by_role("link", name=f"Continue with {self.provider}").click()
        page.get_by_label("E-mail").fill(email)
        page.get_by_role("button", name="Continue").click()

    def arrive(self, page: "Page", email: str) -> None:
        """Sign in, and be in."""
        self.sign_in(page, email)
        page.get_by_text(f"Signed in as {email}").wait_for()

    def let_in(self, page: "Page", terminal: Terminal) -> None:
        """Sign a terminal in as whoever is signed in in this browser."""
        login = self.begin_login(terminal)
        page.goto(login.address)
        page.get_by_role("button", name="Approve").click()
        page.get_by_role("heading", name="Approved").wait_for()
        code, _, complained = login.ended()
        assert code == 0, complained


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


@contextmanager
def serving(home: Path, *, port: int = 0, provider: Certified | None = None) -> Iterator[Place]:
    """Run a server with everything it has in `home`, and stop it in order."""
    key, secret, settings = home / "jwt.key", home / "secret", home / "clusterra.toml"
    home.mkdir(parents=True)
    key.write_bytes(os.urandom(32))
    oidc = ""
    if provider is not None:
        secret.write_text(provider.client_secret)
        oidc = _OIDC.format(
            issuer=provider.issuer, client_id=provider.client_id, secret=secret, name=PROVIDER
        )
    settings.write_text(_SETTINGS.format(oidc=oidc, key=key))
    state = home / "state"
    state.mkdir()
    arguments = ("serve", "--json", "--settings", str(settings), "--state", str(state))
    with (home / "serve.log").open("w") as log:
        process = subprocess.Popen(
            [*CLUSTERRA, *arguments, "--port", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    with process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, (home / "serve.log").read_text()
            place = Place(url=json.loads(line)["url"], state=state, homes=home / "homes")
            try:
                yield place
            finally:
                place.close()
        finally:
            process.terminate()
