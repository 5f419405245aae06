"""E-mail by SMTP. Whatever the mail server does is an answer.

A mail server that refuses the message or whom it is for says so for good with 5xx, and for now
with 4xx; that number becomes the answer's status. A server that does not let us in at all has said
nothing about the message: then there is no status, and it is tried again.
"""

import asyncio
import re
import smtplib
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from time import perf_counter

from clusterra.adapters.tls_words import why_insecure
from clusterra.core.errors import Invalid
from clusterra.core.webhooks.delivery import Timings
from clusterra.core.webhooks.exchange import SNIPPET, Answer, Failure
from clusterra.core.webhooks.mail import Mail
from clusterra.core.webhooks.tidy import tidy

TAKEN = 250
SECURITY = ("starttls", "tls", "none")
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(slots=True, kw_only=True)
class SmtpMailer:
    host: str
    sender: str
    """`Clusterra <clusterra@lab.example>`."""

    port: int = 587
    user: str = ""
    password: str = field(default="", repr=False)
    security: str = "starttls"
    timeout: float = 15
    """Seconds for all of it."""

    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context, repr=False)

    def __post_init__(self) -> None:
        if self.security not in SECURITY:
            raise Invalid(
                f"There is no mail.security {self.security!r}.",
                hint="Say starttls, tls, or none for a mail server on this machine.",
            )
        if "@" not in self._from or not self.sender.isprintable():
            raise Invalid(
                f"{self.sender!r} is nobody to send e-mails as.",
                hint="Set mail.sender as `Clusterra <clusterra@lab.example>`.",
            )

    async def mail(self, mail: Mail) -> Answer:
        began = perf_counter()
        talk = _Talk(self)
        try:
            async with asyncio.timeout(self.timeout):
                answer = await asyncio.to_thread(talk.hand_over, mail)
        except TimeoutError:
            why = f"The mail server {self.host} took longer than {self.timeout:g} s."
            answer = Answer(failure=Failure.TIMEOUT, why=why)
        finally:
            # A thread cannot be stopped, but it ends when there is nothing to read from.
            talk.hang_up()
        took = (perf_counter() - began) * 1000
        return replace(answer, timings=Timings(total_ms=took), remote=f"{self.host}:{self.port}")

    @property
    def _from(self) -> str:
        return parseaddr(self.sender)[1]

    @property
    def domain(self) -> str:
        return self._from.rpartition("@")[2]


class _Talk:
    """One conversation with the mail server, on a thread of its own."""

    def __init__(self, mailer: SmtpMailer) -> None:
        self._mailer = mailer
        self._smtp: smtplib.SMTP | None = None

    def hand_over(self, mail: Mail) -> Answer:
        try:
            smtp = self._smtp = self._open()
            try:
                self._sign_in(smtp)
                refused = smtp.send_message(_spelled(mail, self._mailer), to_addrs=list(mail.to))
                # It has the message: how it says goodbye changes nothing.
                with suppress(smtplib.SMTPException, OSError):
                    smtp.quit()
            finally:
                smtp.close()
        except (smtplib.SMTPException, OSError, ValueError) as error:
            return _answer(error, self._mailer)
        why = f"It would not take it for {', '.join(sorted(refused))}." if refused else ""
        return Answer(status=TAKEN, why=why)

    def hang_up(self) -> None:
        sock = self._smtp.sock if self._smtp is not None else None
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _open(self) -> smtplib.SMTP:
        mailer = self._mailer
        # Its own name is not looked up: that can take as long as all the rest.
        if mailer.security == "tls":
            return smtplib.SMTP_SSL(
                mailer.host,
                mailer.port,
                local_hostname=mailer.domain,
                timeout=mailer.timeout,
                context=mailer.tls,
            )
        return smtplib.SMTP(
            mailer.host, mailer.port, local_hostname=mailer.domain, timeout=mailer.timeout
        )

    def _sign_in(self, smtp: smtplib.SMTP) -> None:
        if self._mailer.security == "starttls":
            smtp.starttls(context=self._mailer.tls)
        if self._mailer.user:
            smtp.login(self._mailer.user, self._mailer.password)


def _spelled(mail: Mail, mailer: SmtpMailer) -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    message["From"] = mailer.sender
    message["To"] = ", ".join(mail.to)
    # A line break in a subject would begin a header of somebody else's.
    message["Subject"] = tidy(mail.subject)
    message["Date"] = format_datetime(datetime.now(UTC))
    if mail.id:
        message["Message-ID"] = f"<{_NOT_IN_IDS.sub('-', mail.id)}@{mailer.domain}>"
    # So that nobody's holiday notice answers it.
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text)
    if mail.html:
        message.add_alternative(mail.html, subtype="html")
    return message


def _answer(error: Exception, mailer: SmtpMailer) -> Answer:
    if isinstance(error, smtplib.SMTPException):
        return _said(error, f"The mail server {mailer.host}")
    if isinstance(error, OSError):
        return _silent(error, mailer)
    # Of the message itself, which will not be another one next time.
    return Answer(failure=Failure.MAIL, status=554, why=f"It cannot be sent: {_words(str(error))}.")


def _said(error: smtplib.SMTPException, server: str) -> Answer:
    """Put what it said into words; what is about the message, with its own number."""
    match error:
        case smtplib.SMTPRecipientsRefused():
            # For now counts before for good: somebody may still get it.
            code, said = min(error.recipients.values(), key=lambda answer: answer[0])
            return _refused(code, said, f"{server} would not take it for anybody named")
        case smtplib.SMTPDataError():
            return _refused(error.smtp_code, error.smtp_error, f"{server} refused the message")
        case smtplib.SMTPAuthenticationError():
            why = f"{server} did not take mail.user and its password ({error.smtp_code})."
            return Answer(failure=Failure.MAIL, why=why)
        case smtplib.SMTPResponseException():
            why = f"{server} said {error.smtp_code}: {_words(error.smtp_error)}."
            return Answer(failure=Failure.MAIL, why=why)
        case smtplib.SMTPServerDisconnected():
            return Answer(failure=Failure.CONNECT, why=f"{server} hung up.")
    why = f"{server} does not offer what mail.security and mail.user ask for: {_words(str(error))}."
    return Answer(failure=Failure.TLS, why=why)


def _silent(error: OSError, mailer: SmtpMailer) -> Answer:
    server = f"The mail server {mailer.host}"
    match error:
        case ssl.SSLError():
            why = f"{server} cannot be spoken to safely. {why_insecure(error)}"
            return Answer(failure=Failure.TLS, why=why)
        case socket.gaierror():
            return Answer(failure=Failure.DNS, why=f"{server} cannot be found by that name.")
        case TimeoutError():
            why = f"{server} took longer than {mailer.timeout:g} s."
            return Answer(failure=Failure.TIMEOUT, why=why)
    why = f"{server} cannot be reached: {error.strerror or error}."
    return Answer(failure=Failure.CONNECT, why=why)


def _refused(code: int, said: bytes | str, words: str) -> Answer:
    snippet = said if isinstance(said, bytes) else said.encode()
    return Answer(
        status=code,
        failure=Failure.MAIL,
        why=f"{words} ({code}): {_words(said)}.",
        snippet=snippet[:SNIPPET],
    )


def _words(said: bytes | str) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return tidy(text, 200).rstrip(".")
