"""A message as an e-mail: plain text, and the same as simple HTML without anything from elsewhere."""

from collections.abc import Sequence

from clusterra.core.webhooks.formats.escape import for_html
from clusterra.core.webhooks.mail import Mail
from clusterra.core.webhooks.telling import Message
from clusterra.core.webhooks.tidy import tidy

SUBJECT = 120

_BODY = "font:14px/1.5 -apple-system,'Segoe UI',sans-serif;color:#1a1a1a"
_QUIET = "color:#6b6b6b"


def email(message: Message, *, to: Sequence[str], id: str = "") -> Mail:
    """Return the e-mail; `id` is the same for every try of it."""
    return Mail(
        to=tuple(to),
        subject=tidy(message.headline or message.sentence, SUBJECT),
        text=message.text,
        html=_html(message),
        id=id,
    )


def _html(message: Message) -> str:
    parts = [f"<p><strong>{for_html(message.title)}</strong>{for_html(message.rest)}</p>"]
    if message.lines:
        lines = "".join(f"<li>{for_html(line)}</li>" for line in message.lines)
        parts.append(f"<ul>{lines}</ul>")
    if message.facts:
        rows = "".join(
            f'<tr><td style="{_QUIET};padding-right:16px">{for_html(label)}</td>'
            f"<td>{for_html(value)}</td></tr>"
            for label, value in message.facts
        )
        parts.append(f"<table>{rows}</table>")
    if message.output:
        parts.append(f"<pre>{for_html(chr(10).join(message.output))}</pre>")
    if message.link:
        label = for_html(message.link_label)
        parts.append(f'<p><a href="{for_html(message.link)}">{label}</a></p>')
    if message.footer:
        parts.append(f'<p style="{_QUIET}">{for_html(message.footer)}</p>')
    body = "\n".join(parts)
    return f'<!doctype html>\n<html><body style="{_BODY}">\n{body}\n</body></html>\n'
