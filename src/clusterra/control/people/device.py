"""Let a terminal in: it asks, a person who is signed in answers in a browser (RFC 8628).

The terminal never meets the identity provider, so this works with every one.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusterra.control.people.directory import Directory
from clusterra.control.people.doing import Visit
from clusterra.control.people.drawn import new_secret, new_user_code, read_user_code
from clusterra.control.people.sessions import Opened, Sessions
from clusterra.core.change import Record
from clusterra.core.errors import Conflict, Malformed, NotFound
from clusterra.core.people.credentials import DEVICE, DEVICE_FOR, DeviceRequest, hash_of
from clusterra.core.people.person import Person
from clusterra.ports import Clock

INTERVAL = timedelta(seconds=1)
"""How often a terminal is told to ask; we are near it, and asking is cheap. Twice as often is
taken for haste: a terminal that keeps time must not be scolded for a network that does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    device_code: str
    request: DeviceRequest


@dataclass(slots=True, kw_only=True)
class Devices:
    directory: Directory
    sessions: Sessions
    clock: Clock
    _asked_at: dict[str, datetime] = field(default_factory=dict)

    async def ask(self, *, agent: str, visit: Visit) -> Asked:
        now = self.clock.now()
        recent = {code: at for code, at in self._asked_at.items() if now - at < DEVICE_FOR}
        self._asked_at = recent
        secret = new_secret()
        request = DeviceRequest(
            code=new_user_code(),
            hash=hash_of(secret),
            expires_at=now + DEVICE_FOR,
            asked_at=now,
            agent=agent or visit.agent,
            address=visit.address,
        )
        await self._commit(puts=Record(kind=DEVICE, id=request.code, value=request))
        return Asked(device_code=f"{request.code}.{secret}", request=request)

    async def waiting(self, code: str) -> DeviceRequest:
        """Return the terminal that shows this code; raise NotFound if none waits with it."""
        return (await self._waiting(code)).value

    async def answer(self, code: str, person: Person, *, approve: bool, within: str) -> None:
        record = await self._waiting(code)
        answered = replace(record.value, person=person.id, within=within, denied=not approve)
        await self._commit(puts=replace(record, value=answered))

    async def redeem(self, device_code: str, *, visit: Visit) -> Opened:
        """Let the terminal in if somebody has said so; raise what it is to do otherwise."""
        code, _, secret = device_code.partition(".")
        record = await self._get(read_user_code(code))
        if record is None or record.value.hash != hash_of(secret):
            raise _over()
        request, now = record.value, self.clock.now()
        too_soon = now - self._asked_at.get(request.code, request.asked_at) < INTERVAL / 2
        self._asked_at[request.code] = now
        if not request.person:
            if too_soon:
                raise Malformed("Asked too soon.", hint="Wait a little longer.", code="slow-down")
            raise Malformed(
                f"Nobody has approved {request.code} yet.",
                hint="Ask again in a moment.",
                code="authorization-pending",
            )
        self._asked_at.pop(request.code, None)
        try:
            await self._commit(drops=record)
        except Conflict:
            raise _over() from None  # of two who show it at once, one is let in
        person = self.directory.person(request.person)
        # Whoever let it in may have been removed in the meantime.
        there = self.directory.is_in(request.person, request.within)
        if request.denied or person is None or not there:
            raise Malformed(
                "This terminal was not let in.",
                hint="Nothing was given to it. Begin again: clusterra login",
                code="access-denied",
            )
        asking = Visit(address=visit.address, agent=request.agent)
        return await self.sessions.open(person, how="device", visit=asking, within=request.within)

    async def _waiting(self, code: str) -> Record[DeviceRequest]:
        record = await self._get(read_user_code(code))
        if record is None or record.value.person:
            raise NotFound(
                f"No terminal waits with the code {code[:16]!r}.",
                hint="Compare it with the one your terminal shows; it is good for 10 minutes.",
                code="no-such-code",
            )
        return record

    async def _get(self, code: str) -> Record[DeviceRequest] | None:
        none = DeviceRequest(
            code="", hash="", expires_at=self.clock.now(), asked_at=self.clock.now()
        )
        record = await self.directory.store.get(DEVICE, code, default=none)
        return record if record.value.expires_at > self.clock.now() else None

    async def _commit(
        self,
        *,
        puts: Record[DeviceRequest] | None = None,
        drops: Record[DeviceRequest] | None = None,
    ) -> None:
        await self.directory.commit(
            self.directory.home, puts=[puts] if puts else [], drops=[drops] if drops else []
        )


def _over() -> Malformed:
    return Malformed(
        "This code is not known here, or its time is over.",
        hint="Begin again: clusterra login",
        code="device-code-expired",
    )
