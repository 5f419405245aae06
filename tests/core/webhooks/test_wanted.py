"""What people are told where they did not say."""

from clusterra.core.events.interest import check_types
from clusterra.core.webhooks.endpoint import Format
from clusterra.core.webhooks.wanted import DEFAULT_TYPES, types_for, worth_telling


def test_people_are_told_how_things_ended_and_programs_everything() -> None:
    check_types(DEFAULT_TYPES)

    assert types_for(Format.SLACK, ()) == DEFAULT_TYPES
    assert types_for(Format.JSON, ()) == ()
    assert types_for(Format.SLACK, ("job.*",)) == ("job.*",)


def test_a_cost_is_no_message_of_its_own_unless_somebody_asked_for_it_by_name() -> None:
    for type in ("job.cost.estimated", "job.cost.finalized"):
        assert not worth_telling(type, Format.SLACK, ("job.*",))
        assert worth_telling(type, Format.SLACK, ("job.*", type))
        assert worth_telling(type, Format.JSON, ("job.*",))
        assert worth_telling(type, Format.GITHUB, ("job.*",))
    assert worth_telling("job.cost.over_quota", Format.SLACK, ("job.*",))
