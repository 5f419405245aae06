"""One server with a certified provider, and one without any, for all tests about signing in.

Whoever is changed in a test belongs to that test, so that none meets what another did.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Browser, started
from tests.e2e.sign_in.place import Place, free_port, serving
from tests.provider.run import Certified, certified_provider

ACCOUNTS: dict[str, dict[str, Any]] = {
    "ana@lab.example": {"name": "Ana", "groups": ["hpc-admins"]},
    "ben@lab.example": {"name": "Ben"},
    "cleo@lab.example": {"name": "Cleo"},
    "dora@lab.example": {"name": "Dora"},
    "eva@lab.example": {"name": "Eva"},
    "finn@lab.example": {"name": "Finn", "groups": ["hpc-admins"]},
    "gus@else.example": {"name": "Gus", "groups": ["guests"]},
    "hal@lab.example": {"name": "Hal", "email_verified": False},
    "ida@else.example": {"name": "Ida"},
    "jo@lab.example": {"name": "Jo"},
    "kim@lab.example": {"name": "Kim"},
    "lea@lab.example": {"name": "Lea"},
    "max@lab.example": {"name": "Max"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    place: Place
    provider: Certified


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Run a provider, and a server whose people it knows; each has the other's address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with (
        certified_provider(
            redirect_uris=[f"{url}/auth/callback"],
            post_logout_redirect_uris=[f"{url}/signed-out"],
            accounts=ACCOUNTS,
        ) as provider,
        serving(_home(tmp_path_factory, "lab"), port=port, provider=provider) as place,
    ):
        yield Lab(place=place, provider=provider)


@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    """Start one browser for all of these: nothing here is asynchronous, and pages share nothing."""
    with started(chromium) as made:
        yield made


@pytest.fixture(scope="package")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Run a server that has no provider."""
    with serving(_home(tmp_path_factory, "alone")) as place:
        yield place


def _home(made: pytest.TempPathFactory, name: str) -> Path:
    return made.mktemp("sign-in") / name
