"""The recipes of a server, of its settings and of its workspaces."""

import asyncio
from pathlib import Path

import pytest

from clusterra.adapters.template_files import template_files
from clusterra.adapters.yaml_text import read_yaml
from clusterra.control.templates.catalogue import Catalogue
from clusterra.core.errors import Conflict, NotFound
from clusterra.core.events.event import EventQuery
from clusterra.core.people.person import ledger_of
from clusterra.core.templates.read import SourceFile
from clusterra.ports import Store
from tests.people import SOMEBODY
from tests.recipes import YAML, a_file
from tests.world import World


def catalogue(store: Store) -> Catalogue:
    return Catalogue(store=store, clock=World(store).clock, read=read_yaml)


def test_an_import_is_kept_told_and_found_again(store: Store) -> None:
    async def story() -> None:
        shelf = catalogue(store)
        shelf.stock([a_file("ours"), a_file("both")], "clusterra")

        report = await shelf.import_files(
            "lab",
            [a_file("both"), a_file("theirs"), SourceFile(name="x.yaml", text="id: [")],
            SOMEBODY,
        )

        assert [each.id for each in report.loaded] == ["both", "theirs"]
        assert [(each.file, each.flaws[0].line) for each in report.refused] == [("x.yaml", 2)]
        events = await store.events(ledger_of("lab"), EventQuery())
        assert [each.subject for each in events] == ["template/both", "template/theirs"]

        later = catalogue(store)
        later.stock([a_file("ours"), a_file("both")], "clusterra")
        await later.load()
        assert later.find("lab", "both").source == "lab"
        assert later.find("other", "both").source == "clusterra"
        assert set(later.of("lab")) == {"ours", "both", "theirs"}
        with pytest.raises(NotFound):
            later.find("other", "theirs")

    asyncio.run(story())


def test_the_same_again_changes_nothing_and_another_text_does(store: Store) -> None:
    async def story() -> None:
        shelf = catalogue(store)
        await shelf.import_files("lab", [a_file("x")], SOMEBODY)
        again = await shelf.import_files("lab", [a_file("x")], SOMEBODY)
        other = SourceFile(name="x", text=YAML.format(id="x").replace("A recipe", "Another"))
        changed = await shelf.import_files("lab", [other], SOMEBODY)

        assert (again.loaded, again.unchanged) == ((), ("x",))
        assert [each.name for each in changed.loaded] == ["Another"]
        assert len(await store.events(ledger_of("lab"), EventQuery())) == 2

    asyncio.run(story())


def test_two_files_with_one_id_are_told_of(store: Store) -> None:
    report = catalogue(store).check([a_file("x", "a.yaml"), a_file("x", "b.yaml")])

    assert [each.id for each in report.loaded] == ["x"]
    assert report.refused[0].file == "b.yaml"
    assert report.refused[0].flaws[0].reason == 'The id "x" is that of a.yaml too.'


def test_only_what_was_imported_can_be_taken_away(store: Store) -> None:
    async def story() -> None:
        shelf = catalogue(store)
        shelf.stock([a_file("ours")], "clusterra")
        await shelf.import_files("lab", [a_file("mine")], SOMEBODY)

        await shelf.remove("lab", "mine", SOMEBODY)
        with pytest.raises(NotFound):
            shelf.find("lab", "mine")
        with pytest.raises(Conflict, match="comes with clusterra"):
            await shelf.remove("lab", "ours", SOMEBODY)
        with pytest.raises(NotFound):
            await shelf.remove("lab", "mine", SOMEBODY)

    asyncio.run(story())


def test_a_directory_is_read_with_all_below_it_and_only_yaml(tmp_path: Path) -> None:
    (tmp_path / "deep/er").mkdir(parents=True)
    for name in ("a.yaml", "deep/b.yml", "deep/er/c.yaml", "README.md", "d.yaml.bak2", "e.json"):
        (tmp_path / name).write_text("id: x")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\0")

    names = [each.name for each in template_files(tmp_path)]

    assert names == ["a.yaml", "binary.yaml", "deep/b.yml", "deep/er/c.yaml"]
