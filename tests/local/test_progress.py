"""A percentage from what mmdebstrap prints: it grows, also through silence, and never goes back."""

from hypothesis import given
from hypothesis import strategies as st

from clusterra.local.progress import BuildProgress

LINES = (
    "I: automatically chosen mode: root",
    "I: running apt-get update...",
    "Get:1 http://deb.example/debian forky InRelease [151 kB]",
    "I: downloading packages with apt...",
    "0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.",
    "I: extracting archives...",
    "I: installing essential packages...",
    "Unpacking libc6:amd64 (2.43-7) ...",
    "Setting up libc6:amd64 (2.43-7) ...",
    "I: installing remaining packages inside the chroot...",
    "0 upgraded, 1 newly installed, 0 to remove and 0 not upgraded.",
    "Unpacking slurmctld (26.05.5-1) ...",
    "I: running --customize-hook in shell: sh -c …",
    "I: cleaning package lists and apt cache...",
    "I: success in 25.9276 seconds",
)


def test_every_stage_is_told_in_words() -> None:
    progress = BuildProgress(usually=30)
    told = []

    for second, line in enumerate(LINES):
        progress.hear(line, float(second))
        told.append(progress.doing)

    assert list(dict.fromkeys(told)) == [
        "preparing",
        "reading package lists",
        "downloading the base system",
        "unpacking the base system",
        "setting up the base system",
        "installing Slurm and MariaDB",
        "preparing the database",
        "cleaning up",
    ]


def test_silence_moves_it_on_but_never_into_the_next_stage() -> None:
    progress = BuildProgress(usually=30)
    progress.hear("I: extracting archives...", 4)
    before = progress.percent

    progress.pass_time(9)
    meanwhile = progress.percent
    progress.pass_time(900)

    assert before < meanwhile < progress.percent < 52


def test_packages_move_it_on() -> None:
    progress = BuildProgress(usually=30)
    progress.hear("I: installing essential packages...", 4)
    progress.hear("0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.", 4)
    before = progress.percent

    progress.hear("Unpacking libc6:amd64 (2.43-7) ...", 4)

    assert progress.percent > before


@given(st.lists(st.tuples(st.sampled_from([*LINES, "", "noise"]), st.floats(0, 1000))))
def test_it_never_goes_back_and_never_claims_the_end(heard: list[tuple[str, float]]) -> None:
    progress = BuildProgress(usually=30)
    seen = [0]

    for line, second in heard:
        progress.hear(line, second)
        seen.append(progress.percent)

    assert seen == sorted(seen)
    assert max(seen) < 100
