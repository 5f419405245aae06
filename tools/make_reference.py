"""Write the generated pages again: openapi.json and docs/reference/. `make docs` runs this."""

import ast
import dataclasses
import inspect
import json
import typing
from pathlib import Path

from clusterra import settings
from clusterra.api.app import describe
from clusterra.api.problems import status_of
from clusterra.cli.reference import reference as cli_page
from clusterra.core import errors

ROOT = Path(__file__).parents[1]


def openapi() -> str:
    return json.dumps(describe().openapi(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def settings_page() -> str:
    lines = [
        "# Settings",
        "",
        "Settings are read once, from the TOML file given to `clusterra serve --settings`, and then",
        "from variables: `CLUSTERRA_SERVER_PORT=9000` overrides `server.port`. An unknown key stops",
        "the start and names the nearest one that exists.",
        "",
    ]
    for title, kind in (
        ("[server]", settings.ServerSettings),
        ("[slurm]", settings.SlurmSettings),
        ("[[clusters]]", settings.ClusterSettings),
        ("[clusters.embedded]", settings.EmbeddedSettings),
    ):
        lines += [f"## `{title}`", "", "| key | default | what it is |", "|---|---|---|"]
        said = documented(kind)
        for field in dataclasses.fields(kind):
            lines.append(f"| `{field.name}` | {default(field)} | {said[field.name]} |")
        lines.append("")
    return "\n".join(lines)


def default(field: "dataclasses.Field[object]") -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    if field.default is None or field.default == "":
        return "–"
    return f"`{field.default}`"


def documented(kind: type) -> dict[str, str]:
    """Read the sentence under each field of a class."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)
    said: dict[str, str] = {}
    name = ""
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            said[name] = ""
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and name:
            said[name] = " ".join(str(node.value.value).split())
    return said


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


PAGES = {
    "openapi.json": openapi,
    "docs/reference/settings.md": settings_page,
    "docs/reference/errors.md": errors_page,
    "docs/reference/cli.md": cli_page,
}


def main() -> None:
    for name, make in PAGES.items():
        (ROOT / name).write_text(make())
        print(f" ✓ {name}")


if __name__ == "__main__":
    main()
