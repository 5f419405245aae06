"""Events in the form of an endpoint. JSON is not among them: that is the event as the ledger has it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterra.core.ids import uuid8
from clusterra.core.webhooks.endpoint import Format
from clusterra.core.webhooks.formats.email import email
from clusterra.core.webhooks.formats.github import HEADERS, github
from clusterra.core.webhooks.formats.slack import slack
from clusterra.core.webhooks.formats.teams import teams
from clusterra.core.webhooks.mail import Mail
from clusterra.core.webhooks.telling import Place, Telling
from clusterra.core.webhooks.together import together

JSON = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    body: bytes
    headers: Mapping[str, str]
    """By their lower-case names; what is secret is not among them."""


def rendered(format: Format, tellings: Sequence[Telling], place: Place) -> Rendered:
    """Return what is posted. GitHub takes one event at a time, chats as many as there are."""
    headers = {"content-type": JSON}
    match format:
        case Format.SLACK:
            content = slack(together(tellings, place))
        case Format.TEAMS:
            content = teams(together(tellings, place))
        case Format.GITHUB:
            (telling,) = tellings
            content, headers = github(telling, place), headers | HEADERS
        case _:
            raise ValueError(f"{format} is not posted in a form of its own.")
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return Rendered(body=body.encode(errors="replace"), headers=headers)


def mailed(tellings: Sequence[Telling], place: Place, *, to: Sequence[str]) -> Mail:
    """Return the e-mail; the same events make the same id, so that a second try is no second mail."""
    ids = [telling.id for telling in tellings]
    id = ids[0] if len(ids) == 1 else uuid8("mail", *ids)
    return email(together(tellings, place), to=to, id=id)
