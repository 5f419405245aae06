"""A quoted value arrives as it is, wherever in a script it stands: asked of a real bash."""

import json
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterra.core.templates.shell import Place, Reading, is_shell, quoted

NASTY = [
    "plain",
    "",
    " two  words ",
    "$(touch pwned)",
    "`touch pwned`",
    "${HOME}",
    "a'b",
    'a"b',
    "back\\slash\\",
    "line\nend",
    "EOF\ntouch pwned\n",
    "; touch pwned #",
    "& touch pwned",
    "!!",
    "{{ .params.x }}",
    "*",
    "\t tab",
    "ünï©ode ☃",
    "\\n",
    "\\",
    "'\"'\"$'\\''",
]

PLACES = {
    "an assignment": ("X=", '\nprintf %s "$X"', Place.PLAIN),
    "a word of a command": ("printf %s ", "\n", Place.PLAIN),
    "after an equals sign": ('f() { printf %s "${1#*=}"; }\nf --name=', "\n", Place.PLAIN),
    "double quotes": ('printf %s "', '"\n', Place.DOUBLE),
    "double quotes after a command": ('printf %s "$(true "a b")', '"\n', Place.DOUBLE),
    "a command inside double quotes": ('printf %s "$(printf %s ', ' && printf x)"', Place.PLAIN),
    "an array": ("A=( one ", ' )\nprintf %s "${A[1]}"', Place.PLAIN),
    "after a comment": ("# isn't it\nprintf %s ", "\n", Place.PLAIN),
    "after a sum": ("N=$((1<<2))\n((N<<=1))\nprintf %s ", "\n", Place.PLAIN),
    "after an escaped quote": ("printf %s \\'", "\n", Place.PLAIN),
    "after a dollar quote": ("Y=$'it\\'s'\nprintf %s ", "\n", Place.PLAIN),
    "after a here-document": (
        "cat >/dev/null <<'A B'\nisn't \"\nA B\nprintf %s ",
        "\n",
        Place.PLAIN,
    ),
    "after a here-string": ("cat >/dev/null <<< 'x'\nprintf %s ", "\n", Place.PLAIN),
    "after a parameter with a hash": (
        'Y=a.b; Z="${Y#*.}"; W=${Y#a}\nprintf %s ',
        "\n",
        Place.PLAIN,
    ),
}


def _bash(script: str) -> bytes:
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True, timeout=20)
    assert done.stderr == b""
    return done.stdout


def _at(before: str) -> Place:
    reading = Reading()
    reading.feed(before)
    return reading.place


@pytest.mark.parametrize("where", PLACES)
def test_a_quoted_value_arrives_in_shell_as_it_is(where: str) -> None:
    before, after, place = PLACES[where]
    assert _at(before) is place

    for value in NASTY:
        out = _bash(before + quoted(value, place) + after).decode()
        expected = value
        if after.startswith(" && printf x"):
            expected = value + "x"
        elif before.endswith("\\'"):
            expected = "'" + value
        assert out == expected, (where, value)


DOCUMENTS = {
    "a here-document": ('cat <<EOF\n{"a": ', "}\nEOF\n"),
    "one with a quoted delimiter": ("cat <<'EOF'\n{\"a\": ", "}\nEOF\n"),
    "one whose tabs go": ('cat <<-EOF\n\t{"a": ', "}\n\tEOF\n"),
    "the second on a line": ('cat /dev/fd/3 3<<B <<A\n{"a": ', "}\nB\nx\nA\n"),
    "single quotes": ('printf %s \'{"a": ', "}'\n"),
}


@pytest.mark.parametrize("where", DOCUMENTS)
def test_a_quoted_value_arrives_in_json_as_it_is(where: str) -> None:
    before, after = DOCUMENTS[where]

    for value in NASTY:
        out = _bash(before + quoted(value, _at(before)) + after)
        assert json.loads(out) == {"a": value}, (where, value)


@settings(max_examples=60)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40))
def test_no_value_becomes_anything_else(value: str) -> None:
    script = (
        f"X={quoted(value, Place.PLAIN)}\n"
        f'Y="{quoted(value, Place.DOUBLE)}"\n'
        f"# {quoted(value, Place.COMMENT)}\n"
        'printf "%s\\0%s\\0" "$X" "$Y"\n'
        f"cat <<EOF\n{quoted(value, Place.HERE)}\nEOF\n"
    )

    plain, double, here = _bash(script).split(b"\0")

    assert plain.decode() == double.decode() == json.loads(here) == value


def test_it_is_read_in_pieces_as_in_one() -> None:
    script = "X=1 # it's\ncat <<-'E O'\n\t$(x\n\tE O\necho \"$(echo 'a' `b` \")\")\" $((1<<3)) \\' "
    whole = Reading()
    whole.feed(script)
    for cut in (at for at, each in enumerate(script) if each.isspace()):
        reading = Reading()
        reading.feed(script[:cut])
        reading.feed(script[cut:])
        assert reading.place is whole.place is Place.PLAIN, cut


@pytest.mark.parametrize(
    ("first", "shell"),
    [
        ("#!/bin/bash", True),
        ("#!/bin/bash -l", True),
        ("#!/usr/bin/env bash", True),
        ("#!/usr/bin/env -S bash -eu", True),
        ("#!/bin/sh", True),
        ("#!/usr/bin/env python3", False),
        ("#!/usr/bin/python3", False),
        ("echo hello", True),
    ],
)
def test_what_reads_a_script_stands_on_its_first_line(first: str, shell: bool) -> None:
    assert is_shell(f"{first}\necho\n") is shell
