"""What a file may be called, and what would lead elsewhere or read like something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import Invalid
from clusterra.core.files.path import LONGEST, LONGEST_PART, read_path


@pytest.mark.parametrize(
    "path",
    [
        "x.bin",
        "runs/07/reads_R1.fq.gz",
        "Übung/résumé.txt",
        "данные/файл.csv",
        "日本語/ファイル.txt",
        "with space/and (brackets) + plus.txt",
        "...three",
        "a..b",
        ".hidden",
        "-rf",
        "~/x",
        "$HOME",
    ],
)
def test_ordinary_names_of_any_script_are_taken_as_they_are(path: str) -> None:
    assert read_path(path) == path


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "needs a name"),
        ("/etc/shadow", "begins with a slash"),
        ("../ben/data/x", "leads elsewhere"),
        ("a/../../x", "leads elsewhere"),
        ("a/./x", "leads elsewhere"),
        ("..", "leads elsewhere"),
        ("a//b", "empty part"),
        ("a/", "empty part"),
        ("a\0b", r"U\+0000"),
        ("a\nb", r"U\+000A"),
        ("a\x7fb", r"U\+007F"),
        ("a\\b", r"U\+005C"),
        ("safe\u202egpj.exe", r"U\+202E"),
        ("a\u2066b", r"U\+2066"),
        ("a\u200bb", r"U\+200B"),
        ("a\ufeffb", r"U\+FEFF"),
        ("a\u00a0b", r"U\+00A0"),
        ("a\u3164b", r"U\+3164"),
        ("a\ufe0f", r"U\+FE0F"),
        ("d\u0430ta.csv", "mixes Latin and Cyrillic"),
        ("\u03bfutput", "mixes Greek and Latin"),
        ("re\u0301sume\u0301", "NFC"),
        (" a", "begins or ends with a space"),
        ("a /b", "begins or ends with a space"),
        (".clusterra-upload", "Clusterra's own"),
        ("a/.clusterra", "Clusterra's own"),
        ("\ud800", "is not text"),
    ],
)
def test_a_name_that_leads_elsewhere_or_can_be_mistaken_is_refused(path: str, why: str) -> None:
    with pytest.raises(Invalid, match=why) as refused:
        read_path(path)

    assert refused.value.code == "bad-path"
    assert refused.value.hint
    assert refused.value.at == "path"


def test_a_path_is_as_long_as_a_key_can_be_and_not_longer() -> None:
    part = "x" * 247
    longest = f"{part}/{part}/{part}"

    assert len(longest) == LONGEST - 1
    assert read_path(longest + "x")
    with pytest.raises(Invalid, match=f"{LONGEST} is the most"):
        read_path(longest + "xx")


def test_a_part_is_as_long_as_a_file_system_takes_it_in_bytes() -> None:
    assert read_path("é" * (LONGEST_PART // 2))
    with pytest.raises(Invalid, match="255 is the most"):
        read_path("é" * (LONGEST_PART // 2 + 1))


def test_a_folder_may_end_in_a_slash_and_may_be_the_location_itself() -> None:
    assert read_path("runs/", folder=True) == "runs"
    assert read_path("", folder=True) == ""
    with pytest.raises(Invalid):
        read_path("/", folder=False)


@given(st.text(max_size=80))
def test_whatever_is_taken_stays_below_and_has_one_spelling(text: str) -> None:
    try:
        path = read_path(text)
    except Invalid:
        return

    assert path == text
    assert not path.startswith("/")
    assert all(part not in ("", ".", "..") for part in path.split("/"))
    assert path.isprintable()


@given(st.lists(st.sampled_from(["..", ".", "", "a", "b c", "\0", "/"]), max_size=6))
def test_no_arrangement_of_dots_and_slashes_leads_out(parts: list[str]) -> None:
    try:
        path = read_path("/".join(parts))
    except Invalid:
        return

    assert set(path.split("/")) <= {"a", "b c"}


@pytest.mark.parametrize("path", ["re\u0301sume\u0301", "d\u0430ta.csv", " a"])
def test_what_a_job_has_named_oddly_can_be_reached_all_the_same(path: str) -> None:
    assert read_path(path, existing=True) == path


@pytest.mark.parametrize("path", ["..", "a/../b", "/a", "a//b", "a\0", "a\u202eb", ".clusterra/x"])
def test_and_what_leads_elsewhere_cannot(path: str) -> None:
    with pytest.raises(Invalid):
        read_path(path, existing=True)
