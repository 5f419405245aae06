"""The endpoints there are, and everything that is done with them.

They are few and asked at every event, so they are held in memory; every change is
committed first, with its event, and shown here then.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from clusterra.control.people.doing import SYSTEM, Doer, told
from clusterra.control.people.drawn import new_id
from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import Conflict, Invalid, NotFound
from clusterra.core.events.catalogue.admin import (
    AdminWebhookChanged,
    AdminWebhookCreated,
    AdminWebhookDeleted,
    AdminWebhookSecretRotated,
)
from clusterra.core.events.catalogue.webhooks import WebhookDisabled
from clusterra.core.events.fact import Fact
from clusterra.core.events.interest import check_interest
from clusterra.core.people.person import Person, ledger_of
from clusterra.core.webhooks.endpoint import (
    HEALTH,
    WEBHOOK,
    Endpoint,
    EndpointState,
    Format,
    Health,
    Reach,
    Secret,
)
from clusterra.core.webhooks.formats.detect import check_format, format_of, shown_url
from clusterra.core.webhooks.sign import secret_from
from clusterra.core.webhooks.wanted import types_for
from clusterra.core.webhooks.wish import (
    GENTLE,
    Edit,
    Wish,
    check_credential,
    check_name,
    check_rate,
    edited,
    known_zone,
)
from clusterra.ports import Clock, Sender, Store, Vault

MOST = 200
"""Endpoints of one workspace."""

LONGEST_OVERLAP = timedelta(days=30)
SECRETS_AT_ONCE = 2

SIGNING_KEY: Kind[str] = Kind("webhook-signing-key", str)
"""By workspace: the seed of its Ed25519 key, locked."""


@dataclass(slots=True, kw_only=True)
class Endpoints:
    store: Store
    clock: Clock
    vault: Vault
    sender: Sender
    mails: bool
    """Whether e-mails can be sent from here."""

    ledgers_of: Callable[[str], Sequence[str]]
    """The ledgers that an endpoint of a workspace hears of."""

    zone_of: Callable[[Person, str], Awaitable[str]]
    """The time zone of somebody in a workspace, where they have not said one."""

    _records: dict[str, Record[Endpoint]] = field(default_factory=dict)
    _keys: dict[str, Record[str]] = field(default_factory=dict)

    async def load(self) -> None:
        self._records = {record.id: record for record in await self.store.list(WEBHOOK)}
        self._keys = {record.id: record for record in await self.store.list(SIGNING_KEY)}

    # --- asking

    def find(self, id: str) -> Endpoint | None:
        record = self._records.get(id)
        return record.value if record else None

    def get(self, id: str) -> Endpoint:
        if (found := self.find(id)) is None:
            raise no_such_webhook(id)
        return found

    def all(self) -> list[Endpoint]:
        """Return those of every workspace."""
        return [self._records[id].value for id in sorted(self._records)]

    def of(self, workspace: str) -> list[Endpoint]:
        return [each for each in self.all() if each.workspace == workspace]

    def public_key(self, endpoint: Endpoint) -> bytes:
        """Return the key that it is signed with in the open; nothing if it is not."""
        record = self._keys.get(endpoint.workspace) if endpoint.ed25519 else None
        return self.vault.signer(record.value).public if record else b""

    def signer(self, endpoint: Endpoint) -> Callable[[bytes], bytes] | None:
        record = self._keys.get(endpoint.workspace) if endpoint.ed25519 else None
        return self.vault.signer(record.value).sign if record else None

    # --- changing

    async def make(
        self, wish: Wish, workspace: str, owner: Person, *, by: Doer, runs_the_server: bool
    ) -> tuple[Endpoint, str]:
        """Make an endpoint; return it with its secret, which is shown to nobody again."""
        if len(self.of(workspace)) >= MOST:
            raise Conflict(
                f"{workspace} has {MOST} webhooks already, and that is the most.",
                hint="Remove one that nobody needs: clusterra webhooks list",
                code="too-many-webhooks",
            )
        format = wish.format or format_of(wish.url)
        reach = _reach(wish.allow_private, runs_the_server=runs_the_server)
        await self._check_url(wish.url, format, reach)
        check_interest(wish.interest)
        now = self.clock.now()
        secret = secret_from(os.urandom(32)) if format is Format.JSON else ""
        endpoint = Endpoint(
            id=new_id("whk_", now),
            workspace=workspace,
            owner=owner.id,
            name=self._free_name(check_name(wish.name) or _named_by(wish.url, format), workspace),
            format=format,
            url_sealed=self.vault.lock(wish.url),
            url_shown=shown_url(wish.url, format),
            secrets=(Secret(sealed=self.vault.lock(secret)),) if secret else (),
            credential_sealed=self._locked(check_credential(wish.credential, format)),
            interest=replace(wish.interest, types=types_for(format, wish.interest.types)),
            begins={
                each: (await self.store.head(each)).size for each in self.ledgers_of(workspace)
            },
            ordered=wish.ordered,
            ed25519=wish.ed25519 and format is Format.JSON,
            reach=reach,
            zone=known_zone(wish.zone) or await self.zone_of(owner, workspace),
            per_second=check_rate(wish.per_second) or GENTLE.get(format, 0),
            since=now,
            created_at=now,
        )
        fact = AdminWebhookCreated(id=endpoint.id, name=endpoint.name)
        await self._put(
            Record(kind=WEBHOOK, id=endpoint.id, value=endpoint), fact, by, also=self._key(endpoint)
        )
        return endpoint, secret

    async def edit(self, id: str, edit: Edit, *, by: Doer, runs_the_server: bool) -> Endpoint:
        endpoint = self.get(id)
        changed = edited(endpoint, edit)
        if edit.url is not None or edit.allow_private is not None:
            reach = _reach_after(edit, endpoint.reach, runs_the_server=runs_the_server)
            changed = await self._moved(changed, edit.url, reach)
        if edit.name is not None:
            name = self._free_name(check_name(edit.name), endpoint.workspace, id)
            changed = replace(changed, name=name or endpoint.name)
        if edit.credential is not None:
            credential = check_credential(edit.credential, endpoint.format)
            changed = replace(changed, credential_sealed=self._locked(credential))
        if changed != endpoint:
            await self._change(changed, by, also=self._key(changed))
        return changed

    async def _moved(self, endpoint: Endpoint, url: str | None, reach: Reach) -> Endpoint:
        """Return it at another address, or with another reach, if that may be."""
        if url is None:
            await self._check_url(self.vault.unlock(endpoint.url_sealed), endpoint.format, reach)
            return replace(endpoint, reach=reach)
        await self._check_url(url, endpoint.format, reach)
        return replace(
            endpoint,
            reach=reach,
            url_sealed=self.vault.lock(url),
            url_shown=shown_url(url, endpoint.format),
        )

    async def turn(
        self, id: str, state: EndpointState, *, why: str = "", by: Doer | None = None
    ) -> Endpoint:
        """Pause an endpoint, or make it active again; without a person, disable it."""
        endpoint = self.get(id)
        if endpoint.state is state:
            return endpoint
        now = self.clock.now()
        changed = replace(endpoint, state=state, why=why, since=now)
        if by is not None:
            await self._change(changed, by)
            return changed
        fact = WebhookDisabled(id=id, name=endpoint.name, why=why)
        await self._put(replace(self._records[id], value=changed), fact, None)
        return changed

    async def rotate(self, id: str, overlap: timedelta, *, by: Doer) -> tuple[str, datetime | None]:
        """Give it a new secret; return that, and until when the old one is signed with too."""
        endpoint = self.get(id)
        if endpoint.format is not Format.JSON:
            raise Invalid(
                f"{endpoint.name} has no secret: messages to {endpoint.format} are not signed.",
                hint="Whoever has its address can write there; set another with `webhooks edit`.",
                code="not-signed",
            )
        if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
            raise Invalid(
                "Two secrets are good at once for 0 hours to 30 days.",
                hint="Leave it out for a day; 0 ends the old one now.",
                at="overlap_hours",
            )
        now = self.clock.now()
        until = now + overlap if overlap else None
        secret = secret_from(os.urandom(32))
        old = [replace(each, until=until) for each in endpoint.secrets[:1]] if until else []
        changed = replace(
            endpoint,
            secrets=(Secret(sealed=self.vault.lock(secret)), *old)[:SECRETS_AT_ONCE],
        )
        fact = AdminWebhookSecretRotated(id=id, name=endpoint.name, old_until=until)
        await self._put(replace(self._records[id], value=changed), fact, by)
        return secret, until

    async def delete(self, id: str, *, by: Doer) -> Endpoint:
        endpoint = self.get(id)
        health = await self.store.get(HEALTH, id, default=Health())
        fact = AdminWebhookDeleted(id=id, name=endpoint.name)
        drops: list[Record[Any]] = [self._records[id], *([health] if health.version else [])]
        change = Change(drops=drops, events=[self._told(fact, id, by)])
        await self._commit(endpoint.workspace, change)
        del self._records[id]
        return endpoint

    # --- how

    async def _check_url(self, url: str, format: Format, reach: Reach) -> None:
        check_format(url, format)
        if format is not Format.EMAIL:
            await self.sender.check(url, reach)
        elif not self.mails:
            raise Invalid(
                "This server sends no e-mails: it has no mail server.",
                hint="Whoever runs it names one in its settings: [mail] host and sender.",
                at="url",
                code="no-mail",
            )

    def _free_name(self, name: str, workspace: str, own: str = "") -> str:
        taken = {each.name for each in self.of(workspace) if each.id != own}
        free, number = name, 1
        while free in taken:
            number += 1
            free = f"{name}-{number}"
        return free

    def _locked(self, text: str) -> str:
        return self.vault.lock(text) if text else ""

    def _key(self, endpoint: Endpoint) -> Sequence[Record[str]]:
        """Return the workspace's own key if this needs one and there is none yet."""
        if not endpoint.ed25519 or endpoint.workspace in self._keys:
            return ()
        seed = self.vault.lock(os.urandom(32).hex())
        return (Record(kind=SIGNING_KEY, id=endpoint.workspace, value=seed),)

    async def _change(
        self, endpoint: Endpoint, by: Doer, *, also: Sequence[Record[str]] = ()
    ) -> None:
        fact = AdminWebhookChanged(id=endpoint.id, name=endpoint.name)
        record = replace(self._records[endpoint.id], value=endpoint)
        await self._put(record, fact, by, also=also)

    async def _put(
        self,
        record: Record[Endpoint],
        fact: Fact,
        by: Doer | None,
        *,
        also: Sequence[Record[str]] = (),
    ) -> None:
        change = Change(puts=[record, *also], events=[self._told(fact, record.id, by)])
        await self._commit(record.value.workspace, change)
        self._records[record.id] = replace(record, version=record.version + 1)
        for key in also:
            self._keys[key.id] = replace(key, version=key.version + 1)

    async def _commit(self, workspace: str, change: Change) -> None:
        try:
            await self.store.commit(ledger_of(workspace), change)
        except Conflict:
            await self.load()
            raise

    def _told(self, fact: Fact, id: str, by: Doer | None) -> Any:
        actor = by.actor if by else SYSTEM
        return told(fact, actor=actor, subject=f"webhook/{id}", at=self.clock.now())


def _reach(allow_private: bool, *, runs_the_server: bool) -> Reach:
    if not allow_private:
        return Reach.PUBLIC
    return Reach.PRIVATE if runs_the_server else Reach.LISTED


def _reach_after(edit: Edit, before: Reach, *, runs_the_server: bool) -> Reach:
    if edit.allow_private is not None:
        return _reach(edit.allow_private, runs_the_server=runs_the_server)
    if edit.url is not None and before is Reach.PRIVATE and not runs_the_server:
        return Reach.LISTED  # the leave of whoever runs the server was for another address
    return before


def _named_by(url: str, format: Format) -> str:
    if format is Format.EMAIL:
        return url.partition(":")[2][:60]
    return (urlsplit(url).hostname or "webhook") if format is Format.JSON else str(format)


def no_such_webhook(id: str) -> NotFound:
    return NotFound(
        f"There is no webhook {id[:64]!r} here.",
        hint="`clusterra webhooks list` shows those you have.",
        code="webhook-not-found",
    )
