"""Made-up events: one of every kind, as plausible as the real ones."""

from dataclasses import fields, is_dataclass

import msgspec
import pytest

from clusterra.adapters.envelope import read, spell
from clusterra.core.errors import Invalid
from clusterra.core.events.catalogue import CATALOGUE
from clusterra.core.events.sample import Setting, sample, sample_draft
from clusterra.core.events.tell import person, tell
from clusterra.core.webhooks.message import message
from clusterra.core.webhooks.telling import Place, Telling
from tests.builders import NOON


@pytest.mark.parametrize("type", sorted(CATALOGUE))
def test_every_kind_of_event_can_be_made_up_spelled_and_told(type: str) -> None:
    draft = sample_draft(type, token="1f", at=NOON)

    event = read(
        spell(draft, cluster="helix", seq=1, recorded_at=NOON), cluster="helix", seq=1, chain=b""
    )
    data = msgspec.json.decode(event.body)["data"]
    told = message(
        Telling(
            id=event.id,
            type=event.type,
            ledger="helix",
            cluster="helix",
            subject=event.subject,
            actor=event.actor,
            at=event.at,
            data=data,
        ),
        Place(console="https://hpc.lab.example"),
    )

    assert event.type == type
    assert event.id == "test_1f"
    assert told.sentence.startswith("Test: ")
    assert "None" not in told.text + tell(type, data, by=person(*draft.actor.split(":")))


@pytest.mark.parametrize("type", sorted(CATALOGUE))
def test_what_is_made_up_has_the_types_that_the_catalogue_says(type: str) -> None:
    fact = sample(type, at=NOON)

    assert is_dataclass(fact)
    assert fields(fact) is not None
    assert msgspec.convert(msgspec.to_builtins(fact), CATALOGUE[type]) == fact


def test_it_is_about_names_that_the_reader_knows() -> None:
    setting = Setting(email="priya@lab.example", user="priya")

    draft = sample_draft("user.login", token="1", at=NOON, setting=setting)

    assert (draft.subject, draft.actor) == ("user/priya@lab.example", "user:priya@lab.example")
    assert sample("job.failed", at=NOON, setting=setting).user == "priya"  # type: ignore[attr-defined]


@pytest.mark.parametrize("type", ["job.fialed", "job.*", "", "*"])
def test_what_is_no_kind_of_event_is_refused(type: str) -> None:
    with pytest.raises(Invalid):
        sample(type, at=NOON)
