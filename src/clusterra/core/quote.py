"""How a refusal shows what it refuses: as its sender wrote it, and not at any length."""

import json
from typing import Any

LONGEST = 60


def shown(value: Any) -> str:
    """Write a value the way JSON does, cut to a line, and safe to send on whatever is in it."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
