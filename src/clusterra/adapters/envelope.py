"""How an event is spelled in bytes: CloudEvents 1.0 JSON that is also a Standard Webhooks body.

The ledger's hashes are made of these bytes, so they are made once, when the event
is numbered, and kept. `time` and `timestamp` are the same moment: one specification
asks for the first name, the other for the second.
"""

from datetime import datetime

import msgspec

from clusterra.core.events.event import Draft, Event
from clusterra.core.events.fact import Fact


class _Envelope(msgspec.Struct):
    specversion: str
    id: str
    source: str
    type: str
    subject: str
    time: datetime
    timestamp: datetime
    recordedtime: datetime
    sequence: str
    authtype: str
    authid: str
    correlationid: str
    dataschema: str
    datacontenttype: str
    data: Fact


class _Job(msgspec.Struct):
    user: str = ""


class _AboutJob(msgspec.Struct):
    data: _Job


class _Outside(msgspec.Struct):
    """What a reader needs of the envelope without its data."""

    id: str
    type: str
    subject: str
    time: datetime
    authtype: str
    authid: str


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Outside).decode
_decode_job = msgspec.json.Decoder(_AboutJob).decode


def spell(draft: Draft, *, cluster: str, seq: int, recorded_at: datetime) -> bytes:
    kind, _, who = draft.actor.partition(":")
    type = draft.fact.type
    return _encode(
        _Envelope(
            specversion="1.0",
            id=draft.id,
            # A ledger that is no cluster's says in its name what it is of.
            source=f"/{cluster}" if "/" in cluster else f"/clusters/{cluster}",
            type=type,
            subject=draft.subject,
            time=draft.at,
            timestamp=draft.at,
            recordedtime=recorded_at,
            # Compared as text by whoever follows the specification, hence the zeros.
            sequence=f"{seq:020d}",
            authtype=kind,
            authid=who,
            correlationid=draft.correlation or draft.id,
            dataschema=f"urn:clusterra:event:{type}:1",
            datacontenttype="application/json",
            data=draft.fact,
        )
    )


def spelled(draft: Draft, *, cluster: str, at: datetime) -> Event:
    """Return an event as it would stand in a ledger, and does not: it has no number."""
    body = spell(draft, cluster=cluster, seq=0, recorded_at=at)
    return read(body, cluster=cluster, seq=0, chain=b"")


def read(body: bytes, *, cluster: str, seq: int, chain: bytes) -> Event:
    outside = _decode(body)
    return Event(
        cluster=cluster,
        seq=seq,
        id=outside.id,
        type=outside.type,
        subject=outside.subject,
        actor=f"{outside.authtype}:{outside.authid}",
        at=outside.time,
        body=body,
        chain=chain,
        owner=owner_of(outside.type, body),
    )


def owner_of(type: str, body: bytes) -> str:
    """Return whose job an event is about."""
    return _decode_job(body).data.user if type.startswith(("job.", "automation.")) else ""
