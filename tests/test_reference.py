"""The generated pages say what the code says. `make docs` writes them again."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def load_pages() -> dict[str, object]:
    spec = importlib.util.spec_from_file_location(
        "make_reference", ROOT / "tools/make_reference.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages: dict[str, object] = module.PAGES
    return pages


@pytest.mark.parametrize("name", sorted(load_pages()))
def test_a_generated_page_is_up_to_date(name: str) -> None:
    make = load_pages()[name]
    assert callable(make)

    assert (ROOT / name).read_text() == make(), "run: make docs"
