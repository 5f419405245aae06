"""Write the generated pages again: openapi.json and docs/reference/. `make docs` runs this."""

import dataclasses
import json
import typing
from datetime import datetime
from pathlib import Path

from clusterra import settings
from clusterra.api.app import describe
from clusterra.api.catalogue import asyncapi, bundle, documented
from clusterra.api.problems import status_of
from clusterra.api.rights import ROUTES
from clusterra.cli.reference import reference as cli_page
from clusterra.core import errors
from clusterra.core.access import TABLE, Deed, Role, Who
from clusterra.core.events.catalogue import CATALOGUE
from clusterra.core.events.fact import Fact
from clusterra.core.templates.schema import SCHEMA
from clusterra.wire.events import EventView

ROOT = Path(__file__).parents[1]


def openapi() -> str:
    return _json(describe().openapi())


def asyncapi_document() -> str:
    return _json(asyncapi())


def event_schemas() -> str:
    return _json(bundle())


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def settings_page() -> str:
    lines = [
        "# Settings",
        "",
        "Settings are read once, from the TOML file given to `clusterra serve --settings`, and then",
        "from variables: `CLUSTERRA_SERVER_PORT=9000` overrides `server.port`. An unknown key stops",
        "the start and names the nearest one that exists.",
        "",
    ]
    for title, kind in _tables(settings.Settings):
        lines += [f"## `{title}`", "", "| key | default | what it is |", "|---|---|---|"]
        said, below = documented(kind), {name for _, name, _ in _below(kind)}
        for field in dataclasses.fields(kind):
            if field.name not in below:
                lines.append(f"| `{field.name}` | {default(field)} | {said[field.name]} |")
        lines.append("")
    return "\n".join(lines)


def _tables(of: type, path: str = "") -> typing.Iterator[tuple[str, type]]:
    """Every table that a settings file may have, as its header is written."""
    for repeated, name, kind in _below(of):
        yield (f"[[{path}{name}]]" if repeated else f"[{path}{name}]"), kind
        yield from _tables(kind, f"{path}{name}.")


def _below(of: type) -> list[tuple[bool, str, type]]:
    return [
        (repeated, name, kind)
        for repeated in (False, True)
        for name, kind in settings.tables(of, repeated=repeated)
    ]


def default(field: "dataclasses.Field[object]") -> str:
    if field.default is field.default_factory is dataclasses.MISSING:
        return "required"
    if field.default is dataclasses.MISSING or field.default in (None, "", ()):
        return "–"
    if isinstance(field.default, tuple):
        return f"`{json.dumps(field.default)}`"
    return f"`{field.default}`"


def errors_page() -> str:
    lines = [
        "# Errors",
        "",
        "Every refusal is an RFC 9457 problem document with `code`, `detail` (what happened, in your",
        "numbers), `hint` (what to do next) and, where it helps, `at` (the field, line or column). The",
        "terminal prints the same sentences and exits by kind.",
        "",
        "| kind | status | means |",
        "|---|---|---|",
    ]
    meanings = dict(_tree())
    lines += [
        f"| `{kind.code}` | {status_of(kind('x'))} | {meanings[kind.__name__]} |"
        for kind in _kinds(errors.ClusterraError)
    ]
    lines += [
        "",
        "A code more precise than its kind (`unknown-partition`, `script-crlf`, …) has the status of",
        "its kind.",
        "",
    ]
    return "\n".join(lines)


def _kinds(kind: type[errors.ClusterraError]) -> typing.Iterator[type[errors.ClusterraError]]:
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield each
            yield from _kinds(each)


def _tree() -> typing.Iterator[tuple[str, str]]:
    for line in (errors.__doc__ or "").splitlines():
        name, _, meaning = line.strip(" │├└─").partition(" ")
        if name.isidentifier() and meaning:
            yield name, meaning.strip()


SECTIONS = {
    "job": "Jobs",
    "node": "Nodes",
    "fleet": "Fleet",
    "cluster": "Clusters",
    "user": "People",
    "admin": "Administration",
    "collector": "Collector",
    "webhook": "Webhooks",
    "automation": "Automations",
    "files": "Files",
}

EVENTS_INTRO = """\
# Events

*Made from `core/events/catalogue/` by `make docs`; edit the catalogue, not this page.*

Everything that happens on a cluster is one event in its ledger: once, in order, for ever. Read it by the
page (`GET /v1/clusters/{id}/events`), as it happens (`…/events/stream`, Server-Sent Events), for one job
(`…/jobs/{job_id}/events`), or in the terminal: `clusterra events list`, `clusterra events follow`,
`clusterra jobs timeline 41`. The schemas are in [events.schema.json](events.schema.json), the stream in
[asyncapi.json](asyncapi.json), the webhooks in [openapi.json](../../openapi.json).

An event holds facts about work and never the work itself: no script, no environment value, no output.

## Envelope

An event is a [CloudEvents 1.0](https://cloudevents.io) document that is also a
[Standard Webhooks](https://www.standardwebhooks.com) body.

| attribute | what it is |
|---|---|
"""


def events_page() -> str:
    if unnamed := {name.partition(".")[0] for name in CATALOGUE} - SECTIONS.keys():
        raise LookupError(f"These kinds of events have no section: {sorted(unnamed)}")
    said = documented(EventView)
    lines = [EVENTS_INTRO + "\n".join(f"| `{name}` | {text} |" for name, text in said.items()), ""]
    for prefix, title in SECTIONS.items():
        kinds = [kind for name, kind in CATALOGUE.items() if name.startswith(f"{prefix}.")]
        lines += [f"## {title}", "", *_kinds_table(kinds), "", *_fields_table(kinds), ""]
    return "\n".join(lines)


def _kinds_table(kinds: list[type[Fact]]) -> list[str]:
    shared = _shared(kinds)
    rows = ["| type | what happened | its `data` |", "|---|---|---|"]
    for kind in kinds:
        own = [f"`{name}`" for name in _fields(kind) if name not in shared or len(kinds) == 1]
        more = ", ".join(own) or "–"
        rows.append(f"| `{kind.type}` | {' '.join((kind.__doc__ or '').split())} | {more} |")
    if shared and len(kinds) > 1:
        rows += ["", f"Each also has {', '.join(f'`{name}`' for name in shared)}."]
    return rows


def _fields_table(kinds: list[type[Fact]]) -> list[str]:
    told: dict[str, str] = {}
    for kind in kinds:
        said = documented(kind)
        for name, hint in _fields(kind).items():
            words = f"| `{name}` | {hint} | {said[name]} |"
            told.setdefault(name, words)
    return ["| field | type | what it is |", "|---|---|---|", *told.values()]


def _shared(kinds: list[type[Fact]]) -> list[str]:
    return [name for name in _fields(kinds[0]) if all(name in _fields(kind) for kind in kinds)]


def _fields(kind: type[Fact]) -> dict[str, str]:
    hints = typing.get_type_hints(kind)
    return {
        field.name: _type_words(hints[field.name])
        for field in dataclasses.fields(kind)  # type: ignore[arg-type]  # facts are dataclasses
    }


def _type_words(hint: object) -> str:
    words = {int: "number", str: "text", bool: "true or false", datetime: "moment"}
    if typing.get_origin(hint) is tuple:
        return "list of text" if typing.get_args(hint)[0] is str else "list of objects"
    parts = typing.get_args(hint) or (hint,)
    return " or ".join("null" if part is type(None) else words[part] for part in parts)


RIGHTS_INTRO = """\
# Who may do what

*Made from `core/access.py` and `api/rights.py` by `make docs`; edit those, not this page.*

Every route is a deed, and one table says which role may do it. A workspace that one is not in, and whatever
belongs to it, does not exist: 404. Where a role does not reach: 403. Without a valid credential: 401. A token may
do what its person may, as far as its scopes reach.

"""

RIGHTS_AFTER = """
¹ One's own jobs; those who run the workspace may change and read everybody's. What members see of each other's
jobs is the workspace's to say (`clusterra workspaces set --others-jobs`): `details` (all that Slurm tells of
them), `queue` (that they are there, without names and paths), `hidden`. Nobody but their owner and those who run the
workspace reads what a job wrote.

² One's own acts; those who run the workspace see everybody's.

³ Nobody gives or takes a role above their own, and a workspace keeps at least one owner.
"""

NOTES = {
    Deed.SEE_JOBS: "¹",
    Deed.CHANGE_JOBS: "¹",
    Deed.READ_OUTPUT: "¹",
    Deed.SEE_EVENTS: "¹",
    Deed.SEE_AUDIT: "²",
    Deed.MANAGE_PEOPLE: "³",
    Deed.LEAVE: "³",
}


ASKED_INSIDE = "asked again by the routes above, in the workspace that is meant"


def rights_page() -> str:
    by_deed: dict[Deed, list[str]] = {}
    for route, deed in ROUTES.items():
        by_deed.setdefault(deed, []).append(f"`{route}`")
    roles = " | ".join(Role)
    lines = [
        RIGHTS_INTRO + f"| to | {roles} | scope | routes |",
        f"|---|{'---|' * (len(Role) + 2)}",
    ]
    for deed, right in TABLE.items():
        routes = "<br>".join(by_deed.get(deed, [ASKED_INSIDE]))
        if isinstance(right.who, Who):
            who = " | ".join([f"*{right.who.value}*"] + [""] * (len(Role) - 1))
        else:
            who = " | ".join("✓" if role in right.who else "–" for role in Role)
        scope = (
            f"`{right.scope.value}`"
            if right.who not in (Who.ANYBODY, Who.MACHINE, Who.HOLDER)
            else ""
        )
        lines.append(f"| {deed.value}{NOTES.get(deed, '')} | {who} | {scope} | {routes} |")
    return "\n".join(lines) + "\n" + RIGHTS_AFTER


ROUTES_INTRO = """\
# Routes

*Made from the routes themselves by `make docs`.* [The API](api.md) is what to know beside them, [rights](rights.md) who may
ask what, and [openapi.json](../../openapi.json) has every field.
"""

METHODS = ("get", "post", "put", "patch", "delete")


def routes_page() -> str:
    by_tag: dict[str, list[str]] = {}
    for path, methods in describe().openapi()["paths"].items():
        for method in sorted(methods, key=METHODS.index):
            route = methods[method]
            does = " ".join(route.get("description", route["summary"]).partition("\n\n")[0].split())
            by_tag.setdefault(route["tags"][0], []).append(
                f"| `{method.upper()} {path}` | {does} |"
            )
    lines = [ROUTES_INTRO]
    for tag in sorted(by_tag):
        lines += [f"## {tag.capitalize()}", "", "| call | does |", "|---|---|", *by_tag[tag], ""]
    return "\n".join(lines)


PAGES = {
    "openapi.json": openapi,
    "docs/reference/routes.md": routes_page,
    "docs/reference/settings.md": settings_page,
    "docs/reference/errors.md": errors_page,
    "docs/reference/rights.md": rights_page,
    "docs/reference/cli.md": cli_page,
    "docs/reference/events.md": events_page,
    "docs/reference/events.schema.json": event_schemas,
    "docs/reference/asyncapi.json": asyncapi_document,
    "catalog/template.v2.schema.json": lambda: _json(SCHEMA),
}


def main() -> None:
    for name, make in PAGES.items():
        (ROOT / name).write_text(make())
        print(f" ✓ {name}")


if __name__ == "__main__":
    main()
