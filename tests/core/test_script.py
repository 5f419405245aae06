from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import ClusterraError, Invalid, Refused, TooLarge
from clusterra.core.jobs.options import IGNORED, LETTERS, OPTIONS, REFUSED, Takes
from clusterra.core.jobs.script import (
    MAX_DIRECTIVE_LINES,
    MAX_SCRIPT_BYTES,
    Directive,
    check_script,
    directives,
    remarks,
)

BASH = "#!/bin/bash\n"


def read(*lines: str) -> list[tuple[str, str | None]]:
    """What the lines after `#!/bin/bash` ask for."""
    return [(each.option, each.value) for each in directives(BASH + "\n".join(lines))]


@pytest.mark.parametrize(
    "script",
    [
        "#!/bin/bash\necho hi\n",
        "#!/bin/bash",
        "#! /bin/sh -e\n",
        "#!/usr/bin/env python3\nprint('é \x1b[1m')\n",
    ],
)
def test_a_script_that_can_run_passes(script: str) -> None:
    check_script(script)


@pytest.mark.parametrize(
    ("script", "code", "at"),
    [
        ("", "script-empty", "script"),
        (" \n\t\n", "script-empty", "script"),
        ("echo hi\n", "script-no-shebang", "line 1"),
        ("\n#!/bin/bash\n", "script-no-shebang", "line 1"),
        (" #!/bin/bash\n", "script-no-shebang", "line 1"),
        ("\ufeff#!/bin/bash\n", "script-bom", "line 1"),
        ("#!/bin/bash\r\necho\r\n", "script-crlf", "line 1"),
        ("#!/bin/bash\necho\r\n", "script-crlf", "line 2"),
        ("#!/bin/bash\n\x00\n", "script-binary", "line 2"),
        ("\x7fELF\x02\x01\x01", "script-binary", "line 1"),
        ("#!/bin/bash\necho \udcff\n", "script-binary", "line 2"),
        ("#!bash\n", "script-interpreter", "line 1"),
        ("#!\necho\n", "script-interpreter", "line 1"),
        ("#!   \necho\n", "script-interpreter", "line 1"),
    ],
)
def test_a_script_that_would_fail_on_the_node_is_refused_here(
    script: str, code: str, at: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        check_script(script)

    assert (refusal.value.code, refusal.value.at) == (code, at)
    assert refusal.value.hint


def test_a_script_may_have_as_many_bytes_as_slurm_takes_and_not_one_more() -> None:
    fits = BASH + "é" * ((MAX_SCRIPT_BYTES - len(BASH)) // 2)
    check_script(fits)

    with pytest.raises(TooLarge, match=r"5\.00 MB.* 4 MB") as refusal:
        check_script(BASH.ljust(5 * 1024 * 1024, "x"))
    assert refusal.value.code == "script-too-large"
    with pytest.raises(TooLarge):
        check_script(fits + "éé")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#SBATCH --nodes=2", [("nodes", "2")]),
        ("#SBATCH --nodes 2", [("nodes", "2")]),
        ("#SBATCH -N2 -n 4", [("nodes", "2"), ("ntasks", "4")]),
        ("#SBATCH -HJname", [("hold", None), ("job-name", "name")]),
        ("#SBATCH -J=x", [("job-name", "=x")]),
        ("#SBATCH\t-J x", [("job-name", "x")]),
        ("#SBATCH-J x", [("job-name", "x")]),
        ("#SBATCH --part=main", [("partition", "main")]),
        ("#SBATCH --mem=1G", [("mem", "1G")]),
        ("#SBATCH --tasks-per-node=2", [("ntasks-per-node", "2")]),
        ("#SBATCH --exclusive", [("exclusive", None)]),
        ("#SBATCH --exclusive=user", [("exclusive", "user")]),
        ("#SBATCH --job-name=", [("job-name", "")]),
        ('#SBATCH -J "a b"', [("job-name", "a b")]),
        ('#SBATCH -J a"b c"d', [("job-name", "ab cd")]),
        ("#SBATCH -J a\\ b", [("job-name", "a b")]),
        ("#SBATCH -J 'a\\'b'", [("job-name", "a'b")]),
        ("#SBATCH -H # --nodes=2", [("hold", None)]),
        ("#SBATCH -J a#b", [("job-name", "a")]),
        ('#SBATCH -J "a#b"', [("job-name", "a#b")]),
        ("#SBATCH -J a\\#b", [("job-name", "a#b")]),
        ("#SBATCH -H \\", [("hold", None)]),
        ("#SBATCH", []),
        ("##SBATCH -H", []),
        ("# SBATCH -H", []),
        ("#sbatch -H", []),
        (" #SBATCH -H", []),
    ],
)
def test_lines_are_read_as_sbatch_reads_them(
    line: str, expected: list[tuple[str, str | None]]
) -> None:
    assert read(line) == expected


def test_reading_stops_at_the_first_command_and_not_at_comments_or_blank_lines() -> None:
    assert read("", "   ", "  # why", "#SBATCH -H") == [("hold", None)]
    assert read("true", "#SBATCH -H") == []


def test_a_directive_knows_its_line() -> None:
    script = BASH + "\n# a comment\n#SBATCH -N2 -H\n\n#SBATCH -n4\n"

    assert directives(script) == (
        Directive(line=4, option="nodes", value="2"),
        Directive(line=4, option="hold", value=None),
        Directive(line=6, option="ntasks", value="4"),
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("#SBATCH --nods=2", "--nodes"),
        ("#SBATCH --Nodes=2", "--nodes"),
        ("#SBATCH -Z", "-Z"),
        ("#SBATCH --gpu=1", "--gpus-per-node"),
        ("#SBATCH --nodes", "needs a value"),
        ('#SBATCH -J ""', "needs a value"),
        ("#SBATCH --contiguous=yes", "takes no value"),
        ("#SBATCH --exclusive user", "belongs to no option"),
        ("#SBATCH -H nodes=2", "belongs to no option"),
        ("#SBATCHX -H", "belongs to no option"),
        ("#SBATCH -- -H", "belongs to no option"),
        ('#SBATCH -J "open', "never closed"),
        ("#SBATCH --wrap=ls", "it replaces the script"),
        ("#SBATCH --test-only", "a real job"),
        ("#SBATCH --uid=root", "follows from who submits"),
        ("#SBATCH -M other", "--clusters"),
    ],
)
def test_a_line_that_cannot_be_obeyed_is_named(line: str, says: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read("#SBATCH -H", line)

    assert says in f"{refusal.value.detail} {refusal.value.hint}"
    assert refusal.value.at == "line 3"


def test_a_forgotten_value_does_not_swallow_the_next_line() -> None:
    with pytest.raises(Invalid, match="Line 2: --job-name needs a value"):
        read("#SBATCH -J", "#SBATCH --nodes=2")


@pytest.mark.parametrize("line", ["#SBATCH hetjob", "#SBATCH packjob", "#SBATCH -N1 : -N2"])
def test_jobs_of_several_parts_are_refused(line: str) -> None:
    with pytest.raises(Refused) as refusal:
        read("#SBATCH -H", line)

    assert refusal.value.code == "het-job"


def test_lines_without_effect_are_remarked_upon() -> None:
    script = BASH + "#SBATCH --wait -Q -H\n#PBS -N old\ntrue\n#PBS -N later\n"

    said = remarks(script)

    assert len(said) == 3
    assert said[0].startswith("Line 2: --wait")
    assert said[2] == "Line 3: #PBS lines are not read; write #SBATCH."
    assert remarks(BASH + "#SBATCH -H\n") == ()


def test_there_are_only_so_many_lines_to_read() -> None:
    assert len(read(*["#SBATCH -H"] * MAX_DIRECTIVE_LINES)) == MAX_DIRECTIVE_LINES
    with pytest.raises(Invalid, match="more than 1,000"):
        read(*["#SBATCH -H"] * (MAX_DIRECTIVE_LINES + 1))


def test_every_letter_belongs_to_one_option_and_every_fate_to_an_option() -> None:
    assert len(LETTERS) == sum(bool(option.letter) for option in OPTIONS.values())
    assert set(IGNORED) <= set(OPTIONS)
    assert set(REFUSED) <= set(OPTIONS)
    assert not set(IGNORED) & set(REFUSED)


@given(st.text() | st.text("#SBATCH-='\"\\ \n:nN", max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    for script in (text, BASH + text, f"{BASH}#SBATCH {text}"):
        with suppress(ClusterraError):
            check_script(script)
        with suppress(ClusterraError):
            directives(script)


@given(
    option=st.sampled_from(
        sorted(
            name
            for name in OPTIONS
            if OPTIONS[name].takes is Takes.VALUE and name not in {"cluster", *REFUSED}
        )
    ),
    value=st.text(
        st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1, max_size=40
    ),
)
def test_a_quoted_value_comes_through_whole(option: str, value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')

    (directive,) = directives(f'{BASH}#SBATCH --{option}="{quoted}"\n')

    assert directive.value == value
