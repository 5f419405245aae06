"""Whatever is done to a ledger, `verify` says so, and the verifier that shares no code agrees."""

import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterra.adapters.ledger_key import LedgerKey
from clusterra.core.events.chain import Growing, Head
from clusterra.core.events.checkpoint import (
    Checkpoint,
    Key,
    Unreadable,
    origin_of,
    read_key,
    read_note,
    write_note,
)
from clusterra.core.events.reading import Verdict
from clusterra.core.events.verify import Memory, Report, verify
from tests.builders import NOON
from tests.ledger import LAB, SEED, exported

ROOT = Path(__file__).parents[3]
SIGNER = LedgerKey(SEED)
KEY = Key(name=origin_of(LAB), public=SIGNER.public)
OTHER = LedgerKey(bytes(32))

INTACT, TAMPERED, INCOMPLETE = Verdict


@pytest.fixture(scope="module")
def independent() -> ModuleType:
    """The verifier that shares no code with ours."""
    path = ROOT / "tools/verify_ledger.py"
    spec = importlib.util.spec_from_file_location("verify_ledger", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def exit_code(
    independent: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., int]:
    """Return what the independent verifier exits with."""

    def run(lines: list[bytes], key: str = "") -> int:
        file = tmp_path / "export"
        file.write_bytes(b"\n".join(lines) + b"\n")
        monkeypatch.setattr(sys, "argv", ["verify_ledger.py", str(file), *([key] if key else [])])
        code: int = independent.main()
        return code

    return run


def notes_of(lines: list[bytes]) -> list[int]:
    return [n for n, line in enumerate(lines) if n and line.startswith(b"{")]


def events_of(lines: list[bytes]) -> list[int]:
    return [n for n, line in enumerate(lines) if not line.startswith(b"{")]


def whats(report: Report) -> set[str]:
    return {finding.what for finding in report.findings}


def a_note(size: int, root: bytes, signer: LedgerKey = SIGNER) -> bytes:
    checkpoint = Checkpoint(origin=origin_of(LAB), size=size, root=root, at=NOON)
    key = Key(name=origin_of(LAB), public=signer.public)
    return json.dumps({"checkpoint": write_note(checkpoint, key, signer.sign)}).encode()


def rehashed(lines: list[bytes]) -> list[bytes]:
    """Return the export with the hashes that its events now have."""
    header = json.loads(lines[0])
    growing = Growing(
        Head(
            size=header["first"] - 1,
            chain=bytes.fromhex(header["chain"]),
            peaks=tuple(map(bytes.fromhex, header["peaks"])),
        )
    )
    made = []
    for line in lines:
        if line.startswith(b"{"):
            made.append(line)
        else:
            made.append(b"%b %b" % (growing.add(line[65:]).hex().encode(), line[65:]))
    return made


@pytest.mark.parametrize("steps", [(), (1,), (2,), (1, 1, 1), (3, 5, 8, 1), (100, 28)])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_export_is_intact(
    steps: tuple[int, ...], after: int, exit_code: Callable[..., int]
) -> None:
    after = min(after, sum(steps))
    lines = exported(*steps, after=after)

    report = verify(lines)

    assert report.findings == []
    assert report.verdict is INTACT
    assert report.events == sum(steps) - after
    assert exit_code(lines) == 0


def test_a_flipped_bit_is_found_in_the_event_it_is_in(exit_code: Callable[..., int]) -> None:
    good = exported(3, 4)
    for place in events_of(good):
        for byte in range(0, len(good[place]), 29):
            lines = list(good)
            flipped = bytearray(good[place])
            flipped[byte] ^= 1
            lines[place] = bytes(flipped)

            report = verify(lines)

            assert report.verdict is TAMPERED, (place, byte)
            assert (report.findings[0].first, report.findings[0].last) == (place, place)
            assert "not what it was" in report.findings[0].says
        assert exit_code(lines) == 1


def test_a_swap_names_the_events(exit_code: Callable[..., int]) -> None:
    lines = exported(8)
    lines[3], lines[6] = lines[6], lines[3]

    report = verify(lines)

    assert report.verdict is TAMPERED
    assert [(each.what, each.first, each.last) for each in report.findings] == [
        ("reordered", 4, 5),
        ("reordered", 3, 3),
    ]
    assert exit_code(lines) == 1


@pytest.mark.parametrize(("gone", "says"), [([1], "1 is"), ([3], "3 is"), ([3, 4], "3 to 4 are")])
def test_missing_events_are_named(
    gone: list[int], says: str, exit_code: Callable[..., int]
) -> None:
    lines = [line for n, line in enumerate(exported(4, 3)) if n not in gone]

    report = verify(lines)

    assert report.verdict is INCOMPLETE
    assert says in report.findings[0].says
    assert report.findings[0].says.endswith("missing.")
    assert exit_code(lines) == 2


def test_a_tail_that_was_cut_with_the_header_mended_is_told_by_its_checkpoint(
    exit_code: Callable[..., int],
) -> None:
    lines = exported(4, 3)
    header = json.loads(lines[0]) | {"last": 5}
    lines = [json.dumps(header).encode(), *lines[1:6], *lines[8:]]

    report = verify(lines)

    assert report.verdict is INCOMPLETE
    assert report.findings[0].what == "truncated"
    assert "covers 7 events; the last one here is 5" in report.findings[0].says
    assert exit_code(lines) == 2


def test_a_file_that_was_cut_off_is_told_from_one_that_was_changed(
    exit_code: Callable[..., int],
) -> None:
    whole = b"\n".join(exported(4, 3))
    end_of_events = whole.index(b'\n{"checkpoint')
    for at in range(whole.index(b"\n") + 2, end_of_events, 97):
        lines = whole[:at].split(b"\n")

        report = verify(lines)

        assert report.verdict is INCOMPLETE, at
        assert whats(report) == {"cut-off"}
        assert exit_code(lines) == 2


def test_a_history_rewritten_with_right_hashes_differs_from_what_was_signed(
    exit_code: Callable[..., int],
) -> None:
    lines = exported(4, 3, 2)
    lines[6] = lines[6].replace(b'"name":"align"', b'"name":"ALIGN"')
    lines = rehashed(lines)

    report = verify(lines)

    assert report.verdict is TAMPERED
    [finding] = report.findings
    assert (finding.what, finding.first, finding.last) == ("rewritten", 5, 7)
    assert "signed on 2026-03-02 12:02:00 UTC" in finding.says
    assert report.newest is not None
    assert report.newest.checkpoint.size == 4
    assert exit_code(lines) == 1


def test_an_inserted_event_is_not_of_the_ledger(exit_code: Callable[..., int]) -> None:
    lines = exported(5)
    lines.insert(3, lines[3].replace(b'"user":"ana"', b'"user":"eve"'))

    report = verify(lines)

    assert (report.verdict, whats(report)) == (TAMPERED, {"inserted"})
    assert exit_code(lines) == 1

    again = exported(5)
    again.insert(3, again[1])
    assert (verify(again).verdict, whats(verify(again))) == (TAMPERED, {"repeated"})
    assert exit_code(again) == 1


def test_a_ledger_made_anew_with_another_key_is_not_the_one_that_is_known(
    exit_code: Callable[..., int],
) -> None:
    lines = exported(4, 3, seed=bytes(32), name="forged")

    assert verify(lines).verdict is INTACT  # to somebody who has never seen it
    report = verify(lines, memory=Memory(key=KEY))
    assert (report.verdict, whats(report)) == (TAMPERED, {"unknown-key"})
    assert str(KEY) in report.findings[0].says
    assert exit_code(lines, str(KEY)) == 1


def test_a_checkpoint_of_another_key_or_with_another_text_counts_for_nothing(
    exit_code: Callable[..., int],
) -> None:
    good = exported(4, 3)
    [first, second] = notes_of(good)
    root = read_note(json.loads(good[second])["checkpoint"]).checkpoint.root

    foreign = list(good)
    foreign[second] = a_note(7, root, OTHER)
    assert whats(verify(foreign)) == {"unknown-key"}
    assert exit_code(foreign) == 1

    forged = list(good)
    forged[second] = good[second].replace(b"\\n7\\n", b"\\n6\\n")
    assert whats(verify(forged)) == {"bad-signature"}
    assert exit_code(forged) == 1

    assert first
    for lines in (foreign, forged):
        assert verify(lines).verdict is TAMPERED


def test_two_histories_of_one_size_are_told(exit_code: Callable[..., int]) -> None:
    lines = [*exported(4, 3), a_note(7, bytes(32))]

    report = verify(lines)

    assert report.verdict is TAMPERED
    assert "two-histories" in whats(report)
    assert "Two histories of 7 events" in report.findings[0].says
    assert exit_code(lines) == 1


def test_who_remembers_a_checkpoint_misses_it_and_what_it_covered() -> None:
    good = exported(4, 3)
    newest = json.loads(good[-1])["checkpoint"]
    memory = Memory(key=KEY, checkpoint=newest)
    assert verify(good, memory=memory).verdict is INTACT

    dropped = verify([*good[:-1], a_note(7, bytes(32))][:-1], memory=memory)
    assert (dropped.verdict, whats(dropped)) == (INCOMPLETE, {"checkpoint-dropped"})

    truncated = verify(exported(4), memory=memory)
    assert (truncated.verdict, whats(truncated)) == (INCOMPLETE, {"truncated"})
    assert "covers 7 events; the last one here is 4" in truncated.findings[0].says

    other = verify(exported(4, 3, name="other"), memory=memory)
    assert other.verdict is TAMPERED
    assert "two-histories" in whats(other)


def test_events_that_nothing_signed_covers_are_not_called_intact(
    exit_code: Callable[..., int],
) -> None:
    lines = exported(4, 3)[:-1]

    report = verify(lines)

    assert (report.verdict, whats(report)) == (INCOMPLETE, {"unsigned"})
    assert "covers events 5 to 7" in report.findings[0].says
    assert exit_code(lines) == 2


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"hello", b'{"format":"clusterra-ledger/2"}', b"[]", b"null"]
)
def test_what_is_no_export_is_called_that(line: bytes, exit_code: Callable[..., int]) -> None:
    with pytest.raises(Unreadable):
        verify([line])
    assert exit_code([line]) == 2


def test_a_key_is_spelled_with_a_hash_that_must_be_right() -> None:
    assert read_key(str(KEY)) == KEY
    for wrong in (str(KEY)[:-2] + "A=", str(KEY).replace("+", "+0", 1), "x", f"other{KEY}"):
        with pytest.raises(Unreadable):
            read_key(wrong)
    assert replace(KEY, name="other").hash != KEY.hash


# --- any mutation at all

Draw = Callable[..., Any]
Mutation = Callable[[Draw, list[bytes]], tuple[list[bytes], set[Verdict]]]


def flip(draw: Draw, lines: list[bytes]) -> tuple[list[bytes], set[Verdict]]:
    place = draw(st.sampled_from(range(1, len(lines))))
    byte = draw(st.integers(0, len(lines[place]) - 1))
    changed = bytearray(lines[place])
    changed[byte] ^= 1 << draw(st.integers(0, 7))
    joined = b"\n".join([*lines[:place], bytes(changed), *lines[place + 1 :]])
    # The last line may look cut off.
    return joined.split(b"\n"), {TAMPERED, INCOMPLETE} if place == len(lines) - 1 else {TAMPERED}


def swap(draw: Draw, lines: list[bytes]) -> tuple[list[bytes], set[Verdict]]:
    places = events_of(lines)
    one = draw(st.sampled_from(places[:-1] or places))
    other = draw(st.sampled_from(places[1:] or places))
    made = list(lines)
    made[one], made[other] = made[other], made[one]
    return made, {INTACT if one == other else TAMPERED}


def drop(draw: Draw, lines: list[bytes]) -> tuple[list[bytes], set[Verdict]]:
    place = draw(st.sampled_from(events_of(lines)))
    return lines[:place] + lines[place + 1 :], {INCOMPLETE}


def truncate(draw: Draw, lines: list[bytes]) -> tuple[list[bytes], set[Verdict]]:
    last = draw(st.integers(0, len(events_of(lines)) - 1))
    header = json.loads(lines[0])
    mended = header | {"last": header["first"] - 1 + last}
    kept = [line for line in lines[1:] if line.startswith(b"{")]
    return [json.dumps(mended).encode(), *lines[1 : 1 + last], *kept], {INCOMPLETE}


def insert(draw: Draw, lines: list[bytes]) -> tuple[list[bytes], set[Verdict]]:
    places = events_of(lines)
    copied = lines[draw(st.sampled_from(places))].replace(b'"user":"ana"', b'"user":"eve"')
    at = draw(st.sampled_from(places))
    return [*lines[:at], copied, *lines[at:]], {TAMPERED}


def rewrite(draw: Draw, lines: list[bytes]) -> tuple[list[bytes], set[Verdict]]:
    place = draw(st.sampled_from(events_of(lines)))
    made = list(lines)
    made[place] = made[place].replace(b'"user":"ana"', b'"user":"eve"')
    return rehashed(made), {TAMPERED}


def drop_newest_checkpoint(draw: Draw, lines: list[bytes]) -> tuple[list[bytes], set[Verdict]]:
    return lines[:-1], {INCOMPLETE}


MUTATIONS: list[Mutation] = [
    flip,
    swap,
    drop,
    truncate,
    insert,
    rewrite,
    drop_newest_checkpoint,
]
EXPORTS = {
    (steps, after): exported(*steps, after=after)
    for steps in [(1,), (2,), (7,), (3, 5, 8), (1, 1, 1, 1), (20, 1), (33,)]
    for after in (0, 1)
    if after < sum(steps)
}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data(), st.sampled_from(list(EXPORTS)), st.sampled_from(MUTATIONS))
def test_every_mutation_is_named_and_both_verifiers_agree(
    exit_code: Callable[..., int],
    data: st.DataObject,
    which: tuple[tuple[int, ...], int],
    mutation: Mutation,
) -> None:
    lines, expected = mutation(data.draw, EXPORTS[which])

    report = verify(lines)

    assert report.verdict in expected, (mutation.__name__, report.findings)
    assert bool(report.findings) is (report.verdict is not INTACT)
    assert exit_code(lines) == report.verdict


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data(), st.lists(st.sampled_from(MUTATIONS), min_size=2, max_size=3))
def test_the_verifiers_agree_on_what_was_changed_several_times(
    exit_code: Callable[..., int], data: st.DataObject, mutations: list[Mutation]
) -> None:
    lines = EXPORTS[(3, 5, 8), 0]
    for mutation in mutations:
        if len(events_of(lines)) < 2 or not notes_of(lines):
            break
        lines, _ = mutation(data.draw, lines)

    assert exit_code(lines) == verify(lines).verdict
