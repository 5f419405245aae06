"""Whatever an endpoint does: an answer in time, little read, and the page that says so is true."""

import asyncio

import pytest
import uvloop

from tests.adapters.sender.acts import TIMEOUT, Case
from tests.adapters.sender.cases import BOUND, CASES, Outcome, play_all
from tests.adapters.sender.report import PAGE, page

pytestmark = pytest.mark.enable_socket

LATE = 2.0
"""Seconds. Half of one is what we promise; here a dozen hostile servers share the processor."""


@pytest.fixture(scope="module", params=[asyncio.new_event_loop, uvloop.new_event_loop])
def outcomes(request: pytest.FixtureRequest) -> dict[str, Outcome]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        return runner.run(play_all())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_hostile_endpoint_is_an_answer_like_another(
    outcomes: dict[str, Outcome], case: Case
) -> None:
    outcome = outcomes[case.name]
    answer = outcome.answer

    assert (answer.status, answer.failure, answer.why) == (case.status, case.failure, case.why)
    assert outcome.took < TIMEOUT + LATE
    assert outcome.given <= BOUND
    assert outcome.requests <= 1
    assert len(answer.snippet) <= 4096


def test_what_is_packed_is_not_unpacked(outcomes: dict[str, Outcome]) -> None:
    bomb = outcomes["50 MB of zeros in 220 kB of gzip"].answer
    assert bomb.snippet.startswith(b"\x1f\x8b")


def test_headers_that_mean_something_are_kept_as_they_came(outcomes: dict[str, Outcome]) -> None:
    for given in ("120", "Wed, 21 Oct 2026 07:28:00 GMT", "-5", "315360000"):
        assert outcomes[f"429, Retry-After: {given}"].answer.headers["retry-after"] == given
    moved = outcomes["302 to file:///etc/passwd"].answer
    assert moved.headers["location"] == "file:///etc/passwd"


def test_the_page_about_it_is_up_to_date(outcomes: dict[str, Outcome]) -> None:
    assert PAGE.read_text() == page(outcomes), "run: python -m tests.adapters.sender.report"
