"""A mail server on this machine: takes what it is handed, or says no as told."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class SmtpStandIn:
    answers: Mapping[str, str] = field(default_factory=dict)
    """What to say to a command instead of yes: `{"RCPT": "550 No such user"}`."""

    tls: ssl.SSLContext | None = None
    """What it shows when it is asked to go on in secret."""

    at_once: bool = False
    """It speaks TLS from the first byte."""

    slow: str = ""
    """The command after which it says nothing more."""

    port: int = 0
    taken: list[bytes] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(f"{self.answers.get('', '220 ready')}\r\n".encode())
            while line := (await reader.readline()).decode().strip():
                verb = line.split()[0].upper()
                self.heard.append(line)
                if verb == self.slow:
                    await reader.read()
                    return
                if verb == "DATA" and verb not in self.answers:
                    writer.write(b"354 go on\r\n")
                    self.taken.append(await reader.readuntil(b"\r\n.\r\n"))
                    verb = "DONE"
                said = self.answers.get(verb) or self.answers.get(line)
                if said == "hang up":
                    return
                writer.write(f"{said or self._usual(verb)}\r\n".encode())
                if verb == "STARTTLS" and self.tls is not None:
                    await writer.drain()
                    await writer.start_tls(self.tls)
                    self.heard.append("(in secret)")
                if verb == "QUIT":
                    return
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _usual(self, verb: str) -> str:
        offers = ["250-STARTTLS"] if self.tls and "(in secret)" not in self.heard else []
        return {
            "EHLO": "\r\n".join(["250-standin", *offers, "250 AUTH PLAIN"]),
            "STARTTLS": "220 go on",
            "AUTH": "235 welcome",
            "QUIT": "221 bye",
        }.get(verb, "250 fine")


@asynccontextmanager
async def mail_server(**how: object) -> AsyncIterator[SmtpStandIn]:
    standin = SmtpStandIn(**how)  # type: ignore[arg-type]
    server = await asyncio.start_server(
        standin.talk, "127.0.0.1", 0, ssl=standin.tls if standin.at_once else None
    )
    standin.port = server.sockets[0].getsockname()[1]
    async with server:
        yield standin
