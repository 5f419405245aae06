"""`clusterra templates import`, `validate` and `remove`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from clusterra.cli.options import json_option, pass_session, server_options, workspace_option
from clusterra.cli.screen import say, tame
from clusterra.cli.session import Session
from clusterra.core.errors import Invalid
from clusterra.core.words import count
from clusterra.wire.templates import ImportReport, TemplateFile

SUFFIXES = (".yaml", ".yml")
_PATH = click.Path(exists=True, path_type=Path)
_MOST_AT_ONCE = 4 << 20
"""Characters of files that are sent together; what is more goes in several requests."""


@click.command("import")
@server_options
@click.argument("paths", type=_PATH, nargs=-1, required=True)
@workspace_option
@json_option
@pass_session
def import_templates(session: Session, *, paths: tuple[Path, ...], as_json: bool) -> None:
    """Bring in every template in PATHS: files, or directories with all below them.

    Files that are no templates are told of, each with its line and reason, and hinder no
    others. Everybody in the workspace has what was brought in.
    """
    workspace = session.the_workspace().id if session.named_workspace() else ""
    reports = [session.client.templates.import_files(batch, workspace) for batch in _batches(paths)]
    _tell(session, reports, "now there", as_json=as_json)


@click.command("validate")
@server_options
@click.argument("paths", type=_PATH, nargs=-1, required=True)
@json_option
@pass_session
def validate_templates(session: Session, *, paths: tuple[Path, ...], as_json: bool) -> None:
    """Say what is wrong with the templates in PATHS; nothing is kept.

    Exits with 1 if anything is.
    """
    reports = [session.client.templates.validate(batch) for batch in _batches(paths)]
    _tell(session, reports, "fine", as_json=as_json)
    if any(each.refused for each in reports):
        click.get_current_context().exit(1)


@click.command("remove")
@server_options
@click.argument("template")
@workspace_option
@json_option
@pass_session
def remove_template(session: Session, *, template: str, as_json: bool) -> None:
    """Take away a TEMPLATE that was imported."""
    workspace = session.the_workspace().id if session.named_workspace() else ""
    gone = session.client.templates.remove(template, workspace)
    if as_json:
        session.say_answer()
        return
    say(f"The template {tame(gone.id)} is gone; jobs made from it are not touched.")


def _batches(paths: Sequence[Path]) -> Iterator[list[TemplateFile]]:
    batch: list[TemplateFile] = []
    size = 0
    for name, path in _found(paths):
        text = path.read_bytes().decode("utf-8", "replace")
        if batch and size + len(text) > _MOST_AT_ONCE:
            yield batch
            batch, size = [], 0
        batch.append(TemplateFile(name=name, text=text))
        size += len(text)
    if batch:
        yield batch


def _found(paths: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    any_found = False
    for path in paths:
        if path.is_file():
            any_found = True
            yield str(path), path
            continue
        for each in sorted(path.rglob("*")):
            if each.suffix in SUFFIXES and each.is_file():
                any_found = True
                yield str(each.relative_to(path)), each
    if not any_found:
        raise Invalid(
            f"There are no templates in {', '.join(map(str, paths))}.",
            hint=f"Templates are files that end in {' or '.join(SUFFIXES)}.",
        )


def _tell(session: Session, reports: list[ImportReport], state: str, *, as_json: bool) -> None:
    if as_json and len(reports) == 1:
        session.say_answer()
        return
    loaded = sum(each.loaded for each in reports)
    unchanged = sum(len(each.unchanged) for each in reports)
    refused = [one for each in reports for one in each.refused]
    if as_json:
        # Several requests were needed, so there is no one answer to repeat.
        import msgspec  # noqa: PLC0415

        whole = ImportReport(
            loaded=loaded,
            templates=sorted(one for each in reports for one in each.templates),
            unchanged=sorted(one for each in reports for one in each.unchanged),
            refused=refused,
        )
        click.echo(msgspec.json.encode(whole))
        return
    more = f", {unchanged} of them as before" if unchanged else ""
    say(f"{count(loaded, 'template')} {'is' if loaded == 1 else 'are'} {state}{more}.")
    if refused:
        say(session.screen.paint(f"{count(len(refused), 'file')} refused:", "red"))
    for each in refused:
        for flaw in each.flaws:
            say(f"  {tame(each.file)}:{flaw.line}: {tame(flaw.reason)}")
            if flaw.hint:
                say(session.screen.faint(f"      {tame(flaw.hint)}"))
    if loaded and state != "fine":
        say("  Next:  clusterra templates list")
