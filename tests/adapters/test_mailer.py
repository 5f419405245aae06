"""E-mails handed to a mail server, and to ones that would not have them."""

import asyncio
import email
import email.policy
import ssl
from typing import Any

import pytest

from clusterra.adapters.mailer import SmtpMailer
from clusterra.core.errors import Invalid
from clusterra.core.webhooks.exchange import Answer, Failure
from clusterra.core.webhooks.mail import Mail
from clusterra.ports import Mailer
from tests.adapters.sender import certificates
from tests.adapters.smtp_standin import SmtpStandIn, mail_server

pytestmark = pytest.mark.enable_socket

MAIL = Mail(
    to=("ana@lab.example", "ben@lab.example"),
    subject="helix: Job 41 failed, ana's align",
    text="Job 41 failed: exit code 3 – line one\n.\nand a line that is one dot\n",
    html="<p>Job 41 failed</p>",
    id="0198-event",
)


def mailed(
    mail: Mail = MAIL, *, mailer: dict[str, Any] | None = None, **how: Any
) -> tuple[Answer, SmtpStandIn]:
    async def run() -> tuple[Answer, SmtpStandIn]:
        async with mail_server(**how) as server:
            made: Mailer = SmtpMailer(
                **{
                    "host": "127.0.0.1",
                    "port": server.port,
                    "sender": "Clusterra <clusterra@lab.example>",
                    "security": "none",
                    "timeout": 5.0,
                    **(mailer or {}),
                }
            )
            return await made.mail(mail), server

    return asyncio.run(run())


def read(server: SmtpStandIn) -> Any:
    raw = server.taken[0].removesuffix(b"\r\n.\r\n").replace(b"\r\n..", b"\r\n.")
    return email.message_from_bytes(raw, policy=email.policy.default)


def test_an_email_arrives_whole_with_the_headers_that_readers_go_by() -> None:
    answer, server = mailed()
    got = read(server)

    assert (answer.status, answer.failure, answer.why) == (250, None, "")
    assert got["From"] == "Clusterra <clusterra@lab.example>"
    assert got["To"] == "ana@lab.example, ben@lab.example"
    assert got["Subject"] == MAIL.subject
    assert got["Message-ID"] == "<0198-event@lab.example>"
    assert got["Auto-Submitted"] == "auto-generated"
    assert got["Date"].datetime.tzinfo is not None
    assert got.get_body(("plain",)).get_content().replace("\r\n", "\n") == MAIL.text
    assert "<p>Job 41 failed</p>" in got.get_body(("html",)).get_content()
    assert "rcpt TO:<ben@lab.example>" in server.heard
    assert answer.timings.total_ms > 0


def test_a_second_try_is_the_same_message_to_whoever_reads_it() -> None:
    first, second = (read(mailed()[1])["Message-ID"] for _ in range(2))

    assert first == second


def test_no_subject_can_add_a_header() -> None:
    hostile = "Job 41\r\nBcc: eve@evil.example\r\n\r\nfree beer"

    answer, server = mailed(Mail(to=MAIL.to, subject=hostile, text="x", id="a\r\nX: y"))
    got = read(server)

    assert answer.status == 250
    assert got["Bcc"] is None
    assert got["X"] is None
    assert got["Subject"] == "Job 41 Bcc: eve@evil.example free beer"


def test_it_signs_in_where_it_is_to() -> None:
    answer, server = mailed(mailer={"user": "clusterra", "password": "s3cret"})

    assert answer.status == 250
    assert any(line.startswith("AUTH PLAIN") for line in server.heard)


@pytest.mark.parametrize(
    ("how", "status", "failure", "words"),
    [
        ({"answers": {"RCPT": "550 No such user."}}, 550, Failure.MAIL, "(550): No such user."),
        ({"answers": {"RCPT": "451 Try later"}}, 451, Failure.MAIL, "(451): Try later."),
        ({"answers": {"DONE": "552 Too big"}}, 552, Failure.MAIL, "refused the message (552)"),
        ({"answers": {"DATA": "554 No"}}, 554, Failure.MAIL, "refused the message (554)"),
        ({"answers": {"MAIL": "530 Sign in"}}, None, Failure.MAIL, "said 530: Sign in."),
        ({"answers": {"": "554 Go away"}}, None, Failure.MAIL, "said 554: Go away."),
        ({"answers": {"MAIL": "hang up"}}, None, Failure.CONNECT, "hung up"),
    ],
)
def test_what_the_server_says_no_to_is_an_answer_in_words(
    how: dict[str, Any], status: int | None, failure: Failure, words: str
) -> None:
    answer, _ = mailed(**how)

    assert (answer.status, answer.failure) == (status, failure)
    assert words in answer.why


def test_a_wrong_password_says_nothing_about_the_message_and_is_not_shown() -> None:
    answer, _ = mailed(
        mailer={"user": "clusterra", "password": "s3cret"}, answers={"AUTH": "535 Bad credentials"}
    )

    assert (answer.status, answer.failure) == (None, Failure.MAIL)
    assert "mail.user" in answer.why
    assert "s3cret" not in repr(answer)


def test_who_was_refused_is_named_if_others_were_not() -> None:
    answer, server = mailed(answers={"rcpt TO:<ben@lab.example>": "550 No such user"})

    assert (answer.status, answer.failure) == (250, None)
    assert answer.why == "It would not take it for ben@lab.example."
    assert len(server.taken) == 1


def test_a_server_that_falls_silent_is_left_after_the_time_that_was_given() -> None:
    answer, _ = mailed(slow="MAIL", mailer={"timeout": 0.3})

    assert (answer.status, answer.failure) == (None, Failure.TIMEOUT)
    assert answer.timings.total_ms < 4000


def test_a_goodbye_that_goes_wrong_changes_nothing() -> None:
    assert mailed(answers={"QUIT": "500 What?"})[0].status == 250


def test_without_tls_where_it_is_asked_for_nothing_is_sent() -> None:
    answer, server = mailed(mailer={"security": "starttls"})

    assert (answer.status, answer.failure) == (None, Failure.TLS)
    assert server.taken == []
    assert mailed(mailer={"security": "tls"})[0].failure is Failure.TLS


def here() -> certificates.Signed:
    return certificates.signed("localhost", by=certificates.root())


def believing() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=certificates.root().pem.decode())


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_it_is_handed_over_in_secret_where_the_server_can(security: str) -> None:
    who = {"host": "localhost", "security": security, "user": "clusterra", "password": "s3cret"}
    answer, server = mailed(
        mailer={**who, "tls": believing()},
        tls=certificates.server(here()),
        at_once=security == "tls",
    )

    assert (answer.status, answer.why) == (250, "")
    assert read(server)["Subject"] == MAIL.subject
    if security == "starttls":
        in_the_open = server.heard[: server.heard.index("(in secret)")]
        assert [line.split()[0].upper() for line in in_the_open] == ["EHLO", "STARTTLS"]


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_server_with_another_name_or_unknown_authority_is_told_nothing(security: str) -> None:
    tls, at_once = certificates.server(here()), security == "tls"
    for mailer, why in (
        ({"host": "127.0.0.1", "tls": believing()}, "Its certificate is for another address."),
        ({"host": "localhost"}, "signed by an authority that this server does not trust"),
    ):
        how = {**mailer, "security": security, "user": "clusterra", "password": "s3cret"}
        answer, server = mailed(mailer=how, tls=tls, at_once=at_once)

        assert (answer.status, answer.failure) == (None, Failure.TLS)
        assert why in answer.why
        assert not any(line.startswith(("AUTH", "mail")) for line in server.heard)


def test_certificates_are_checked() -> None:
    made = SmtpMailer(host="mail.lab.example", sender="c@lab.example")

    assert made.tls.verify_mode is ssl.CERT_REQUIRED
    assert made.tls.check_hostname


def test_a_server_that_is_not_there_is_an_answer() -> None:
    async def run() -> Answer:
        async with mail_server() as server:
            port = server.port
        gone = SmtpMailer(host="127.0.0.1", port=port, sender="c@lab.example", security="none")
        return await gone.mail(MAIL)

    assert asyncio.run(run()).failure is Failure.CONNECT


@pytest.mark.parametrize("wrong", [{"security": "ssl"}, {"sender": "nobody"}, {"sender": "a@b\n"}])
def test_settings_that_cannot_work_are_refused_at_once(wrong: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        SmtpMailer(**({"host": "127.0.0.1", "sender": "c@lab.example"} | wrong))  # type: ignore[arg-type]
