"""Change what a workspace allows, and what somebody says of themselves."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from clusterra.control.people.directory import Directory
from clusterra.control.people.doing import Doer, told
from clusterra.core.access import OthersJobs
from clusterra.core.errors import Invalid
from clusterra.core.events.catalogue import admin as facts
from clusterra.core.people.person import PERSON, WORKSPACE, Person
from clusterra.core.quote import shown

LONGEST_NAME = 120
LONGEST_VALUE = 2000
MOST_PREFERENCES = 100


async def edit_workspace(
    directory: Directory,
    id: str,
    *,
    name: str | None,
    others_jobs: OthersJobs | None,
    by: Doer,
    at: datetime,
) -> None:
    """Give a workspace another name, or show its members more or less of each other's jobs."""
    record = directory.record(WORKSPACE, id)
    before = record.value
    after = replace(
        before,
        name=before.name if name is None else name.strip(),
        others_jobs=others_jobs or before.others_jobs,
    )
    if not 0 < len(after.name) <= LONGEST_NAME:
        raise Invalid(
            f"A workspace's name has 1 to {LONGEST_NAME} characters.",
            hint="Choose another.",
            at="name",
        )
    if after == before:
        return
    fact = facts.AdminWorkspaceChanged(
        id=id,
        name=after.name,
        address=by.visit.address,
        agent=by.visit.agent,
        before=f"{before.name}, others' jobs: {before.others_jobs}",
        after=f"{after.name}, others' jobs: {after.others_jobs}",
    )
    draft = told(fact, actor=by.actor, subject="workspace", at=at)
    await directory.commit(id, puts=[replace(record, value=after)], events=[draft])


async def edit_person(
    directory: Directory, id: str, *, name: str | None, preferences: Mapping[str, str]
) -> Person:
    """Change somebody's name and preferences; an empty preference is taken away."""
    record = directory.record(PERSON, id)
    kept = {**record.value.preferences, **preferences}
    person = replace(
        record.value,
        name=record.value.name if name is None else name.strip(),
        preferences={key: value for key, value in kept.items() if value},
    )
    _check_size(person)
    await directory.commit(directory.home, puts=[replace(record, value=person)])
    return person


def _check_size(person: Person) -> None:
    if len(person.name) > LONGEST_NAME:
        raise Invalid(
            f"A name has at most {LONGEST_NAME} characters.", hint="Shorten it.", at="name"
        )
    if len(person.preferences) > MOST_PREFERENCES:
        raise Invalid(
            f"{len(person.preferences)} preferences are more than the {MOST_PREFERENCES} that are"
            " kept.",
            hint="Take some away by setting them to an empty text.",
            at="preferences",
        )
    for key, value in person.preferences.items():
        if len(key) > LONGEST_NAME or len(value) > LONGEST_VALUE:
            raise Invalid(
                f"The preference {shown(key)} is too long.",
                hint=f"A name has at most {LONGEST_NAME} characters, a value {LONGEST_VALUE}.",
                at="preferences",
            )
