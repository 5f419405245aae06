"""An event that did not happen, in the bytes it would have."""

import secrets
from datetime import datetime

from clusterra.adapters.envelope import spell
from clusterra.core.events.sample import Setting, sample_draft


def made_up(type: str, now: datetime) -> tuple[str, str, bytes]:
    """Return its id, what it is about, and its bytes; Invalid if there is no such type."""
    draft = sample_draft(type, token=secrets.token_hex(8), at=now)
    # No ledger has an event 0.
    body = spell(draft, cluster=Setting().cluster, seq=0, recorded_at=now)
    return draft.id, draft.subject, body
