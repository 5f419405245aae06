"""What arrives, letter by letter. When it is meant to change, make the files again and read the diff:

CLUSTERRA_GOLDEN=write .venv/bin/python -m pytest -q tests/core/webhooks/test_golden.py
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from clusterra.core.webhooks.endpoint import Format
from clusterra.core.webhooks.formats.render import mailed, rendered
from clusterra.core.webhooks.telling import Telling
from clusterra.core.webhooks.together import together
from tests.core.webhooks import tellings
from tests.core.webhooks.tellings import MUMBAI

GOLDEN = Path(__file__).parent / "golden"

WHAT: Mapping[str, Callable[[], Any]] = {
    "started": tellings.started,
    "failed": tellings.failed,
    "completed": tellings.completed,
    "array": tellings.array,
    "burst": tellings.burst,
    "quota": tellings.quota,
    "node": tellings.node,
    "hostile": tellings.hostile,
}


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("form", ["text", "slack", "teams", "github", "email"])
def test_a_message_is_exactly_this(what: str, form: str) -> None:
    told = WHAT[what]()
    events = told if isinstance(told, list) else [told]
    if form == "github" and len(events) > 1:
        events = events[:1]
    file = GOLDEN / f"{what}.{form}.{'txt' if form in ('text', 'email') else 'json'}"

    made = _made(form, events)
    if os.environ.get("CLUSTERRA_GOLDEN") == "write":
        file.write_text(made)

    assert made == file.read_text()


def _made(form: str, events: Sequence[Telling]) -> str:
    if form == "text":
        return together(events, MUMBAI).text
    if form == "email":
        mail = mailed(events, MUMBAI, to=("ana@lab.example",))
        return f"{mail.subject}\n{mail.id}\n\n{mail.text}\n{mail.html}"
    body = json.loads(rendered(Format(form), events, MUMBAI).body)
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"
