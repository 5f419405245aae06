"""A real browser for tests: Debian's Chromium, driven by Playwright.

    with browser.page() as page:
        page.goto(url)

fails the test if a page complains (its console, a script, a blocked resource) or wants anything
from beyond this machine. Nothing is downloaded but the Debian package, and that only as root.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:  # Playwright takes 0.4 s to import, and most test runs open no browser
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import ConsoleMessage, Page, Request

FLAGS = [
    "--no-sandbox",  # its sandbox does not start as root
    "--disable-dev-shm-usage",
    "--disable-gpu",
    # Nobody listens on the discard port, and loopback is never asked of a proxy: whatever is
    # meant for another machine ends here, redirects and Chromium's own errands included.
    "--proxy-server=http://127.0.0.1:9",
]
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


class Browser:
    def __init__(self, chromium: "Chromium") -> None:
        self._chromium = chromium

    @contextmanager
    def page(self, *, excused: Sequence[str] = (), **context: Any) -> Iterator["Page"]:
        """Open a page that shares nothing with any other: no cookie, no cache.

        Complaints that contain one of `excused` are part of the test (Chromium calls a refused
        request an error); `context` is what Playwright's `new_context` takes.
        """
        complaints: list[str] = []

        def heard(said: "ConsoleMessage") -> None:
            if said.type == "error":
                complaints.append(f"says: {said.text} ({said.location.get('url')})")

        def asked(request: "Request") -> None:
            if _is_away(request.url):
                complaints.append(f"asks for {request.url}")

        made = self._chromium.new_context(**context)
        made.set_default_timeout(15_000)
        made.on("console", heard)
        made.on("weberror", lambda failed: complaints.append(f"fails: {failed.error}"))
        made.on("request", asked)
        try:
            yield made.new_page()
        finally:
            made.close()
        left = [each for each in complaints if not any(part in each for part in excused)]
        if left:
            pytest.fail("\n".join(f"the page {each}" for each in left))


def _is_away(url: str) -> bool:
    where = urlsplit(url)
    return where.scheme in {"http", "https", "ws", "wss"} and where.hostname not in LOOPBACK


@pytest.fixture(scope="session")
def chromium() -> str:
    """Find Chromium's program, or get it."""
    found = shutil.which("chromium")
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        sys.stderr.write("No chromium here: installing Debian's.\n")
        _install()
        found = shutil.which("chromium")
    if found is None:
        pytest.skip("This test needs a browser: install Debian's package `chromium`.")
    return found


@pytest.fixture
def browser(chromium: str) -> Iterator[Browser]:
    """Start a browser for one test, which may open several pages in it.

    One for the whole session would save a second per test, and break every other test: while
    Playwright runs, no `asyncio.run` works in the same thread.
    """
    with started(chromium) as made:
        yield made


@contextmanager
def started(chromium: str) -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield Browser(running)
        running.close()


def _install() -> None:
    if _apt("install", "-y", "--no-install-recommends", "chromium") != 0:
        _apt("update")
        _apt("install", "-y", "--no-install-recommends", "chromium")


def _apt(*arguments: str) -> int:
    # A second run of the tests may be installing it at this moment: its lock is waited for.
    done = subprocess.run(
        ["apt-get", "-o", "DPkg::Lock::Timeout=300", "-q", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdout=2,  # beside what it complains about; a captured `sys.stderr` may have no number
        check=False,
    )
    return done.returncode
