"""What follows from each answer."""

from datetime import timedelta
from typing import Any

import pytest

from clusterra.core.webhooks.breaker import BEGINS_WITH, Breaker
from clusterra.core.webhooks.delivery import Delivery, DeliveryState, replayed
from clusterra.core.webhooks.endpoint import Format
from clusterra.core.webhooks.exchange import Answer, Failure
from clusterra.core.webhooks.outcome import HOLD_FOR, after_attempt, judged
from clusterra.core.webhooks.retry import SCHEDULE
from tests.builders import NOON
from tests.deliveries import a_delivery


def after(answer: Answer, format: Format = Format.JSON, **known: Any) -> Delivery:
    judgement = judged(answer, format, NOON)
    return after_attempt(a_delivery(due=NOON, **known), answer, judgement, now=NOON, chance=0.5)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_is_told(status: int) -> None:
    told = after(Answer(status=status))

    assert (told.state, told.due, told.ended_at) == (DeliveryState.OK, None, NOON)
    assert (told.attempts, told.status, told.why) == (1, status, "")


@pytest.mark.parametrize("status", [100, 301, 302, 307, 308, 400, 401, 404, 413, 422, 500, 599])
def test_everything_else_is_tried_again_by_a_program(status: int) -> None:
    tried = after(Answer(status=status))

    assert tried.state is DeliveryState.RETRY
    assert tried.due == NOON + SCHEDULE[1]
    assert str(status) in tried.why


@pytest.mark.parametrize("failure", list(Failure))
def test_no_answer_is_tried_again(failure: Failure) -> None:
    tried = after(Answer(failure=failure, why="The name is not known."))

    assert tried.state is DeliveryState.RETRY
    assert (tried.status, tried.why) == (None, "The name is not known.")


@pytest.mark.parametrize(
    ("format", "statuses"),
    [
        (Format.JSON, {410}),
        (Format.GITHUB, {410}),
        (Format.SLACK, {404, 410}),
        (Format.TEAMS, {404, 410}),
    ],
)
def test_who_is_gone_is_not_asked_again_and_what_waited_is_kept(
    format: Format, statuses: set[int]
) -> None:
    gone = {
        status for status in range(200, 600) if judged(Answer(status=status), format, NOON).gone
    }

    assert gone == statuses
    kept = after(Answer(status=410), format)
    assert (kept.state, kept.due) == (DeliveryState.RETRY, NOON)


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize("format", [Format.SLACK, Format.TEAMS, Format.GITHUB])
def test_a_message_that_a_chat_refuses_is_given_up_at_once(status: int, format: Format) -> None:
    dead = after(Answer(status=status), format)

    assert (dead.state, dead.due, dead.attempts) == (DeliveryState.DEAD, None, 1)


def test_mail_that_is_refused_for_good_is_given_up_and_otherwise_tried_again() -> None:
    refused = after(Answer(status=550, failure=Failure.MAIL, why="No such user."), Format.EMAIL)
    later = after(Answer(status=451, failure=Failure.MAIL, why="Try later."), Format.EMAIL)

    assert refused.state is DeliveryState.DEAD
    assert later.state is DeliveryState.RETRY


@pytest.mark.parametrize("status", [429, 503])
def test_a_receiver_can_make_it_later_and_never_sooner(status: int) -> None:
    long = Answer(status=status, headers={"retry-after": "3600"})
    short = Answer(status=status, headers={"retry-after": "1"})

    assert after(long).due == NOON + timedelta(hours=1)
    assert after(short).due == NOON + SCHEDULE[1]
    assert judged(long, Format.JSON, NOON).hint == timedelta(hours=1)


def test_too_many_without_a_time_holds_everything_for_a_minute_and_500_holds_nothing() -> None:
    assert judged(Answer(status=429), Format.JSON, NOON).hint == HOLD_FOR
    assert judged(Answer(status=503), Format.JSON, NOON).hint is None
    busy = Answer(status=500, headers={"retry-after": "60"})
    assert judged(busy, Format.JSON, NOON).hint is None


def test_a_redirect_says_where_to_and_is_not_followed() -> None:
    moved = after(Answer(status=308, headers={"location": "https://new.example/\x1b[2J"}))

    assert "https://new.example/" in moved.why
    assert "\x1b" not in moved.why
    assert "not followed" in moved.why


def test_a_receiver_can_ask_to_stop() -> None:
    for status in (200, 503):
        stopped = after(Answer(status=status, headers={"webhook-delivery": "abort-message"}))
        assert stopped.state is DeliveryState.DEAD


def test_a_chat_that_answers_with_a_web_page_has_not_taken_the_message() -> None:
    page = Answer(status=200, snippet=b"  <!DOCTYPE html><html>Sign in")

    assert after(page, Format.SLACK).state is DeliveryState.RETRY
    assert after(page, Format.JSON).state is DeliveryState.OK
    assert after(Answer(status=200, snippet=b"ok"), Format.SLACK).state is DeliveryState.OK


def test_the_last_attempt_is_the_last_and_a_replay_begins_anew() -> None:
    answer = Answer(status=500)
    last = after(answer, attempts=len(SCHEDULE) - 1)
    before = after(answer, attempts=len(SCHEDULE) - 2)

    assert before.state is DeliveryState.RETRY
    assert last.state is DeliveryState.DEAD
    assert last.why.startswith("Given up after 11 attempts. The last one: It answered 500")
    again = replayed(last, NOON)
    assert (again.state, again.attempts, again.replays, again.due) == (
        DeliveryState.PENDING,
        0,
        1,
        NOON,
    )


def test_an_endpoint_that_answers_is_given_more_and_one_that_fails_is_left_alone() -> None:
    breaker = Breaker(most=8)
    for _ in range(10):
        breaker.answered(timedelta(milliseconds=5))
    assert breaker.width == 8

    breaker.answered(timedelta(seconds=3))
    assert breaker.width == BEGINS_WITH

    pauses = []
    for _ in range(14):
        breaker.failed(NOON)
        until = breaker.left_alone_until
        pauses.append(None if until is None else (until - NOON).total_seconds())
    assert pauses == [None] * 9 + [60, 120, 240, 300, 300]
    assert breaker.width == 1

    breaker.answered(timedelta(milliseconds=5))
    assert (breaker.failures, breaker.left_alone_until, breaker.width) == (0, None, 2)
