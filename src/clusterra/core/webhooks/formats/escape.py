"""Words that others chose, made to mean nothing where they are shown.

Slack has no way to write a literal asterisk, and cards have one that only some clients know.
So what would be markup becomes a letter that looks the same; what is plainly part of a name,
as the underscore in `43_[6-9]`, stays and can be copied.
"""

import html
import re
from collections.abc import Callable

from clusterra.core.webhooks.tidy import cut_middle

_MARKUP = re.compile(r"[*~`]|(?<![^\W_])_")
"""An underscore after a letter or a digit begins nothing, and what was not begun cannot end."""

_ALIKE = {"*": "∗", "~": "∼", "`": "ˋ", "_": "ˍ"}
_BREAK = "\u200b"
_PAIRS = re.compile(r"(?<=\])(?=\()|(?<=\])(?=\[)|(?<=\{)(?=\{)|(?<=\$)(?=\{)")
_MENTION = re.compile(r"@(?=here|channel|everyone|all\b)|(?<![\w.+-])@(?=\w)", re.IGNORECASE)
_ANGLES = str.maketrans({"<": "‹", ">": "›"})


def unmarked(text: str) -> str:
    """Return it without markup, links, mentions of everybody or fields to be filled in."""
    text = _MARKUP.sub(lambda mark: _ALIKE[mark[0]], text)
    return _unmentioned(_PAIRS.sub(_BREAK, text))


def _unmentioned(text: str) -> str:
    return _MENTION.sub(f"@{_BREAK}", text)


def for_slack(text: str, most: int = 3000) -> str:
    """Return it for a text of Slack's, no longer than that after escaping."""
    # At the beginning of a line even an escaped > begins a quotation.
    text = "›" + text[1:] if text.startswith(">") else text
    return fitted(text, most, lambda each: _entities(unmarked(each)))


def for_slack_code(text: str, most: int = 2900) -> str:
    """Return it for between three backticks, where only those and entities mean anything."""
    return fitted(text, most, lambda each: _entities(_unmentioned(each.replace("`", _ALIKE["`"]))))


def for_teams(text: str, most: int = 2000) -> str:
    """Return it for a text of an Adaptive Card, where nothing undoes entities."""
    return fitted(text, most, lambda each: unmarked(each).translate(_ANGLES))


def for_teams_code(text: str) -> str:
    """Return a line of output: it stands where no markdown is read, and has to be copied."""
    return _PAIRS.sub(_BREAK, text)


def for_html(text: str) -> str:
    return html.escape(text, quote=True)


def fitted(text: str, most: int, escape: Callable[[str], str]) -> str:
    """Return it escaped, cut in its middle before that until it fits."""
    length = min(len(text), most)
    while len(made := escape(cut_middle(text, length))) > most:
        length = length * 3 // 4
    return made


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
