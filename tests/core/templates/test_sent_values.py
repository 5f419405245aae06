"""What somebody sends is a value: only the context is filled in, and every other brace is theirs."""

import pytest

from clusterra.core.templates.render import Context, filled_value

CONTEXT = Context(user_email="ana@lab.example", cluster_id="clus1", run_id="run-1", files="/f")


@pytest.mark.parametrize(
    "text",
    [
        "print(f'{{x}} {y}')",
        "docker inspect --format '{{.Id}}'",
        "{{ unless closed",
        "{{ .params.name }} {{ .ctx }} {{ .ctx.nothing }} {{ if }}",
    ],
)
def test_braces_that_name_nothing_of_the_context_stay(text: str) -> None:
    assert filled_value(text, CONTEXT) == text


def test_the_context_is_filled_in_at_any_depth() -> None:
    sent = {"a": ["{{.ctx.files}}/data", {"b": "{{ .ctx.user_email }}"}], "n": 3}

    assert filled_value(sent, CONTEXT) == {"a": ["/f/data", {"b": "ana@lab.example"}], "n": 3}
