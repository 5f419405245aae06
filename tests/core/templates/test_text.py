"""The text language: what the public recipes write, and nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import Invalid
from clusterra.core.templates.text import Writer, blanked, fill, parse, paths

VALUES: dict[str, Any] = {
    "params": {
        "name": "ana",
        "count": 3,
        "text": "7",
        "ratio": 0.5,
        "whole": 2.0,
        "yes": True,
        "no": False,
        "empty": "",
        "list": ["a", "b"],
        "none": [],
        "table": {"k": "v", "a": "first"},
        "lines": "one\ntwo",
    },
    "runtime": {"requirements": ["boltz==1.0.0"]},
}


def filled(text: str) -> str:
    return fill(parse(text), VALUES, Writer(lambda value, _: f"<{value}>"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain { } }} text", "plain { } }} text"),
        ("{{.params.name}}", "ana"),
        ("{{ .params.name }}", "ana"),
        ("{{ .params.count }}|{{ .params.ratio }}|{{ .params.whole }}", "3|0.5|2"),
        ("{{ .params.yes }}|{{ .params.no }}", "true|false"),
        ("{{ .params.list }}|{{ .params.table }}", "[a b]|map[a:first k:v]"),
        ("{{ .params.name | quote }}", "<ana>"),
        ("{{ quote .params.name }}", "<ana>"),
        ("{{ .params.text | int }}", "7"),
        ("{{ int 3.9 }}", "3"),
        ("{{ if .params.yes }}a{{ else }}b{{ end }}", "a"),
        ("{{ if .params.empty }}a{{ else }}b{{ end }}", "b"),
        ("{{ if .params.none }}a{{ end }}-", "-"),
        ("{{ if gt .params.count 2 }}many{{ end }}", "many"),
        ("{{ if gt (int .params.text) 7 }}many{{ else }}few{{ end }}", "few"),
        ("{{ if gt .params.text 6 }}many{{ end }}", "many"),
        (
            "{{if .params.no}}a{{else if .params.empty}}b{{else if .params.yes}}c{{else}}d{{end}}",
            "c",
        ),
        ("{{ range .params.list }}[{{ . }}]{{ end }}", "[a][b]"),
        ("{{ range .params.table }}{{ . }} {{ end }}", "first v "),
        ("{{ range .params.none }}x{{ else }}nothing{{ end }}", "nothing"),
        ("{{ range .params.list }}{{ . | quote }}{{ end }}", "<a><b>"),
        ('{{ index .params.table "k" }}', "v"),
        ('{{ index .runtime.requirements 0 | replace "boltz==" "" }}', "1.0.0"),
        ('{{ .params.name | replace `a` "\\"" }}', '"n"'),
        ("{{ .params.lines | indent 2 }}", "  one\n  two"),
        ("a  {{- .params.name -}}  b", "aanab"),
        ("a\n{{- if .params.yes }}\nb\n{{- end }}\nc", "a\nb\nc"),
        ("a{{/* a remark with }} and { */}}b", "ab"),
        ('{{ "}}" }}', "}}"),
        ("{{ true }}{{ -3 }}", "true-3"),
    ],
)
def test_texts_are_filled_in_as_in_go(text: str, expected: str) -> None:
    assert filled(text) == expected


@pytest.mark.parametrize(
    ("text", "said", "at"),
    [
        ("\n{{ .params.nobody }}", "Line 2: .params.nobody has no value.", "params.nobody"),
        ("{{ .nothing }}", ".nothing has no value", "nothing"),
        ("{{ .params.name.deeper }}", ".params.name.deeper has no value", "params.name.deeper"),
        ("{{ .params.name | int }}", 'int is given "ana"', "params.name"),
        ("{{ index .params.list 2 }}", "there are 2, counted from 0", "params.list"),
        ('{{ index .params.table "x" }}', "there are: a, k", "params.table"),
        ("{{ range .params.count }}{{ end }}", "which is not a list", "params.count"),
        ("{{ .params.name | indent 500 }}", "0 to 200 spaces", ""),
    ],
)
def test_a_value_that_is_missing_or_wrong_is_named(text: str, said: str, at: str) -> None:
    with pytest.raises(Invalid) as error:
        filled(text)

    assert said in error.value.detail or "is not a number" in error.value.detail
    assert at in ("", error.value.at)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\n{{ .params.name", "Line 2: {{ is opened and never closed."),
        ("{{ }}", "nothing between"),
        ("{{ upper .params.name }}", 'There is no function "upper"'),
        ("{{ .params.name | default 3 }}", 'There is no function "default"'),
        ("{{ quote }}", "quote is given 0 values"),
        ("{{ gt 1 }}", "gt is given 1 values"),
        ("{{ if .params.yes }}", "if has no end"),
        ("{{ end }}", "end has no if or range"),
        ("{{ else }}", "else has no if or range"),
        ("{{ if .a }}{{ else }}{{ else }}{{ end }}", "second else"),
        ("{{ if .a }}{{ else range .b }}{{ end }}", "After else"),
        ("{{ (.a }}", "( is opened"),
        ("{{ .a) }}", "closes nothing"),
        ("{{ .a .b }}", "followed by another"),
        ("{{ .a | gt int 3 }}", "stands where a value should"),
        ("{{ $x }}", "is not understood"),
        ('{{ "\\q" }}', "means nothing"),
        ("{{ " + "(" * 60 + ".a" + ")" * 60 + " }}", "nested more than"),
        ("{{ if .a }}" * 60 + "{{ end }}" * 60, "nested more than"),
    ],
)
def test_what_is_not_this_language_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(Invalid) as error:
        parse(text)

    assert said in error.value.detail
    assert error.value.at.startswith("line ")


def test_a_value_is_never_read_as_text_again() -> None:
    sly = {"params": {"x": "{{ .params.secret }}", "secret": "s"}}

    assert fill(parse("{{ .params.x }}"), sly, Writer(lambda v, _: v)) == "{{ .params.secret }}"


def test_no_text_grows_without_end() -> None:
    nested = "{{ range .a }}" * 3 + "x" + "{{ end }}" * 3

    with pytest.raises(Invalid):
        fill(parse(nested), {"a": [{"a": []}] * 200_000}, Writer(lambda v, _: v))
    with pytest.raises(Invalid, match="longer than"):
        fill(
            parse('{{ .a | replace "x" .b }}'),
            {"a": "x" * 100_000, "b": "y" * 10_000},
            Writer(lambda v, _: v),
        )


@given(st.text(max_size=60))
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    try:
        read = parse(text)
    except Invalid:
        return
    list(paths(read))
    blanked(read)


@given(st.text(st.characters(exclude_characters="{}"), max_size=40))
def test_what_has_no_braces_stays_as_it_is(text: str) -> None:
    assert filled(text) == text
