"""The recipes there are: those that come with the program, those of the settings, those that a
workspace has imported.

They are few and asked often, so they are held in memory; an import is committed first, with its
event, and shown here then. A workspace's own recipe stands before one of ours of the same name.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from clusterra.control.people.doing import Doer, told
from clusterra.core.change import Change, Kind, Record
from clusterra.core.errors import ClusterraError, Conflict, NotFound, TooLarge
from clusterra.core.events.catalogue.admin import AdminTemplateChanged
from clusterra.core.people.person import ledger_of
from clusterra.core.quote import shown
from clusterra.core.templates.read import (
    Document,
    Flaw,
    NotATemplate,
    SourceFile,
    read_template,
)
from clusterra.core.templates.template import Template
from clusterra.ports import Clock, Store

MOST = 2_000
"""Templates of one workspace."""

OURS = "clusterra"
SETTINGS = "settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTemplate:
    document: dict[str, Any]
    by: str
    at: datetime


TEMPLATE: Kind[KeptTemplate] = Kind("template", KeptTemplate)
"""By workspace and id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    template: Template
    source: str
    """`clusterra`, `settings`, or the workspace that it was imported into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedFile:
    file: str
    flaws: tuple[Flaw, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of files that were to be templates."""

    loaded: tuple[Template, ...] = ()
    unchanged: tuple[str, ...] = ()
    refused: tuple[RefusedFile, ...] = ()


@dataclass(slots=True, kw_only=True)
class Catalogue:
    store: Store
    clock: Clock
    read: Callable[[str], Document]
    """Reads YAML. Raises Invalid."""

    _common: dict[str, Entry] = field(default_factory=dict)
    _own: dict[str, dict[str, Record[KeptTemplate]]] = field(default_factory=dict)
    _entries: dict[str, dict[str, Entry]] = field(default_factory=dict)
    refused: tuple[RefusedFile, ...] = ()
    """Files of ours and of the settings that are no templates; the server starts without them."""

    def stock(self, files: Sequence[SourceFile], source: str) -> Report:
        """Take in templates that everybody has."""
        report = self._read(files)
        self._common |= {each.id: Entry(template=each, source=source) for each in report.loaded}
        self.refused = (*self.refused, *report.refused)
        return report

    async def load(self) -> None:
        """Read what the workspaces have imported."""
        for record in await self.store.list(TEMPLATE):
            workspace, _, _ = record.id.partition("/")
            self._show(workspace, record)

    # --- asking

    def of(self, workspace: str) -> dict[str, Entry]:
        """Return all that a workspace has, by id."""
        return {**self._common, **self._entries.get(workspace, {})}

    def find(self, workspace: str, id: str) -> Entry:
        own = self._entries.get(workspace, {}).get(id)
        if found := own or self._common.get(id):
            return found
        near = get_close_matches(id, self.of(workspace), n=1)
        raise NotFound(
            f"There is no template {shown(id)}.",
            hint=f"Did you mean {near[0]}?" if near else "See `clusterra templates list`.",
            code="unknown-template",
            at="template_id",
        )

    # --- changing

    def check(self, files: Sequence[SourceFile]) -> Report:
        """Say what would become of files; nothing is kept."""
        return self._read(files)

    async def import_files(self, workspace: str, files: Sequence[SourceFile], by: Doer) -> Report:
        """Take in those of the files that are templates, in place of those of the same id."""
        report = self._read(files)
        own = self._own.get(workspace, {})
        new = [
            each
            for each in report.loaded
            if each.id not in own or own[each.id].value.document != each.document
        ]
        if len(own.keys() | {each.id for each in new}) > MOST:
            raise TooLarge(
                f"{workspace} would have more than {MOST:,} templates.",
                hint="Remove some: clusterra templates remove ID",
                code="too-many-templates",
            )
        now = self.clock.now()
        puts = [
            Record(
                kind=TEMPLATE,
                id=f"{workspace}/{each.id}",
                value=KeptTemplate(document=dict(each.document), by=by.actor, at=now),
                version=own[each.id].version if each.id in own else 0,
            )
            for each in new
        ]
        if puts:
            events = [self._told(each.id, each.name, by, now) for each in new]
            await self.store.commit(ledger_of(workspace), Change(puts=puts, events=events))
        for record, template in zip(puts, new, strict=True):
            stored = Record(
                kind=TEMPLATE, id=record.id, value=record.value, version=record.version + 1
            )
            self._keep(workspace, stored, template)
        same = tuple(each.id for each in report.loaded if each not in new)
        return Report(loaded=tuple(new), unchanged=same, refused=report.refused)

    async def remove(self, workspace: str, id: str, by: Doer) -> Template:
        record = self._own.get(workspace, {}).get(id)
        if record is None:
            entry = self.find(workspace, id)
            raise Conflict(
                f"The template {id} is not of {workspace}: it comes with {entry.source}.",
                hint="Import one of the same id to stand before it.",
                code="template-not-own",
            )
        template = self._entries[workspace][id].template
        event = self._told(id, template.name, by, self.clock.now())
        await self.store.commit(ledger_of(workspace), Change(drops=[record], events=[event]))
        del self._own[workspace][id], self._entries[workspace][id]
        return template

    def _told(self, id: str, name: str, by: Doer, at: datetime) -> Any:
        fact = AdminTemplateChanged(id=id, name=name)
        return told(fact, actor=by.actor, subject=f"template/{id}", at=at)

    # --- reading

    def _read(self, files: Sequence[SourceFile]) -> Report:
        loaded: dict[str, tuple[Template, str]] = {}
        refused: list[RefusedFile] = []
        for file, template, flaws in self._each(files):
            if template is None:
                refused.append(RefusedFile(file=file.name, flaws=flaws))
            elif template.id in loaded:
                before = loaded[template.id][1]
                flaw = Flaw(
                    line=1,
                    reason=f"The id {shown(template.id)} is that of {before} too.",
                    hint="Give one of them another id.",
                )
                refused.append(RefusedFile(file=file.name, flaws=(flaw,)))
            else:
                loaded[template.id] = (template, file.name)
        return Report(
            loaded=tuple(template for template, _ in loaded.values()), refused=tuple(refused)
        )

    def _each(
        self, files: Sequence[SourceFile]
    ) -> Iterator[tuple[SourceFile, Template | None, tuple[Flaw, ...]]]:
        for file in files:
            try:
                yield file, read_template(self.read(file.text)), ()
            except NotATemplate as error:
                yield file, None, error.flaws
            except ClusterraError as error:
                line = error.at.removeprefix("line ")
                flaw = Flaw(
                    line=int(line) if line.isdigit() else 1, reason=error.detail, hint=error.hint
                )
                yield file, None, (flaw,)

    def _show(self, workspace: str, record: Record[KeptTemplate]) -> None:
        try:
            template = read_template(Document(value=record.value.document))
        except NotATemplate as error:
            # Taken in by an earlier version that knew better, or worse.
            self.refused = (*self.refused, RefusedFile(file=record.id, flaws=error.flaws))
            return
        self._keep(workspace, record, template)

    def _keep(self, workspace: str, record: Record[KeptTemplate], template: Template) -> None:
        self._own.setdefault(workspace, {})[template.id] = record
        self._entries.setdefault(workspace, {})[template.id] = Entry(
            template=template, source=workspace
        )
