"""A message for Teams: an Adaptive Card in the envelope that its Workflows take.

A card is at most 28 kB with its envelope. Texts stand in rich text, which knows no markdown, and
are escaped all the same: facts do know it, and clients differ.
"""

import json
from dataclasses import replace
from typing import Any

from clusterra.core.events.severity import Severity
from clusterra.core.webhooks.formats.escape import for_teams, for_teams_code
from clusterra.core.webhooks.telling import Message
from clusterra.core.webhooks.tidy import cut_middle

Part = dict[str, Any]
LARGEST = 28_000
"""Bytes."""

_COLOURS = {Severity.ERROR: "Attention", Severity.WARNING: "Warning"}


def teams(message: Message) -> dict[str, Any]:
    """Return the card; what does not fit is left out, the least important first."""
    short = cut_middle(message.sentence, 500)
    for fewer in (
        message,
        replace(message, output=()),
        replace(message, output=(), facts=()),
        replace(message, output=(), facts=(), lines=(), sentence=short, title="", footer=""),
    ):
        card = _envelope(fewer)
        if len(json.dumps(card).encode()) <= LARGEST:
            break
    return card


def _envelope(message: Message) -> dict[str, Any]:
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "fallbackText": for_teams(message.sentence),
        "msteams": {"width": "Full"},
        "body": _body(message),
    }
    if message.link:
        card["actions"] = [
            {"type": "Action.OpenUrl", "title": for_teams(message.link_label), "url": message.link}
        ]
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}


def _body(message: Message) -> list[Part]:
    colour = {"color": _COLOURS[message.severity]} if message.severity in _COLOURS else {}
    title = [_run(for_teams(message.title), weight="Bolder", **colour)] if message.title else []
    rest = [_run(for_teams(message.rest))] if message.rest else []
    body = [_rich(*title, *rest)]
    body += [_rich(_run(f"• {for_teams(line)}"), spacing="Small") for line in message.lines]
    if message.facts:
        facts = [
            {"title": for_teams(label, 100), "value": for_teams(value, 1000)}
            for label, value in message.facts
        ]
        body.append({"type": "FactSet", "facts": facts})
    if message.output:
        body += [
            _rich(
                _run(for_teams_code(line), fontType="Monospace", size="Small"),
                spacing="None" if number else "Medium",
            )
            for number, line in enumerate(message.output)
        ]
    if message.footer:
        body.append(_rich(_run(for_teams(message.footer), isSubtle=True, size="Small")))
    return body


def _rich(*runs: Part, **how: Any) -> Part:
    return {"type": "RichTextBlock", "inlines": list(runs), **how}


def _run(text: str, **how: Any) -> Part:
    return {"type": "TextRun", "text": text, **how}
