from pathlib import Path

from clusterra.cli.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def test_the_reference_page_says_what_the_commands_say() -> None:
    fresh = "run: python -m clusterra.cli.reference > docs/reference/cli.md"

    assert PAGE.read_text() == reference(), fresh
