"""Any refusal, as a page: what happened, and what to do next."""

from clusterra.api.pages.frame import door
from clusterra.api.pages.markup import html
from clusterra.api.pages.parts import NOTHING, heading, paragraph, way


def trouble(
    *, title: str, detail: str, hint: str, again: str = "", words: str = "Try again"
) -> str:
    """`again` is the path of this server that may work the next time."""
    return door(
        title,
        heading(title),
        html(
            '<div role="alert">{detail}{hint}</div>',
            detail=paragraph(detail),
            hint=paragraph(hint) if hint else NOTHING,
        ),
        way(words, again) if again else NOTHING,
        way("Go to the start", "/", primary=False),
    )
