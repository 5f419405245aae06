"""A message for Slack: blocks, and a text for notifications and for what knows no blocks.

Limits: 3,000 characters in a text, 10 fields in a section, 50 blocks. Texts are `verbatim`, so
that Slack makes no links and mentions of what looks like one.
"""

from typing import Any

from clusterra.core.webhooks.formats.escape import for_slack, for_slack_code
from clusterra.core.webhooks.telling import Message

Block = dict[str, Any]
FIELDS = 10
FIELD = 2000


def slack(message: Message) -> dict[str, Any]:
    return {"text": _fallback(message), "mrkdwn": False, "blocks": _blocks(message)}


def _blocks(message: Message) -> list[Block]:
    blocks = [_section(_lead(message))]
    if message.lines:
        # Two hundred and some characters each: eleven of them fit into one text.
        lines = (f"• {for_slack(line, 260)}" for line in message.lines)
        blocks.append(_section("\n".join(lines)))
    if message.facts:
        fields = [
            _text(f"*{for_slack(label, 100)}*\n{for_slack(value, FIELD - 200)}")
            for label, value in message.facts[:FIELDS]
        ]
        blocks.append({"type": "section", "fields": fields})
    if message.output:
        blocks.append(_section(f"```{for_slack_code(chr(10).join(message.output))}```"))
    if where := _where(message):
        blocks.append({"type": "context", "elements": [_text(where)]})
    return blocks


def _lead(message: Message) -> str:
    if not message.title:
        return for_slack(message.sentence)
    title, rest = for_slack(message.title, 1000), message.rest
    return f"*{title}*{for_slack(rest, 1900) if rest else ''}"


def _where(message: Message) -> str:
    """Return the link, and where and when it was.

    A link, and no button: Slack reports whoever presses one to an app, and warns them if the
    app does not answer; an incoming webhook has nobody who would.
    """
    link = (
        f"<{_address(message.link)}|{for_slack(message.link_label, 200)}>" if message.link else ""
    )
    parts = (link, for_slack(message.footer, 1000) if message.footer else "")
    return " · ".join(part for part in parts if part)


def _address(link: str) -> str:
    for char, code in (("&", "&amp;"), ("<", "%3C"), (">", "%3E"), ("|", "%7C"), (" ", "%20")):
        link = link.replace(char, code)
    return link


def _fallback(message: Message) -> str:
    return "\n".join(
        (for_slack(message.sentence), *(f"• {for_slack(line, 260)}" for line in message.lines))
    )


def _section(text: str) -> Block:
    return {"type": "section", "text": _text(text)}


def _text(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}
