"""The small parts pages are made of: buttons, fields, forms, facts, commands, problems."""

from collections.abc import Mapping
from typing import Protocol

from clusterra.api.pages.markup import Html, html, joined

NOTHING = Html()


class Problem(Protocol):
    """What went wrong and what to do next: our errors are this, and so are problem documents."""

    @property
    def detail(self) -> str: ...
    @property
    def hint(self) -> str: ...


def heading(text: str) -> Html:
    return html("<h1>{text}</h1>", text=text)


def paragraph(text: str | Html) -> Html:
    return html("<p>{text}</p>", text=text)


def hint(text: str | Html) -> Html:
    return html('<p class="hint">{text}</p>', text=text)


def typed(text: str) -> Html:
    """Show a word as it stands in a terminal."""
    return html("<code>{text}</code>", text=text)


def command(text: str) -> Html:
    """Show what to type, on a line of its own."""
    return html(
        '<pre class="cmd"><span class="p" aria-hidden="true">$ </span><code>{text}</code></pre>',
        text=text,
    )


def stranger(text: str, longest: int = 120) -> Html:
    """Show what somebody else chose to be called.

    Isolated and without invisible characters, so that it cannot turn around what is read, and
    cut, so that it cannot push the question out of sight.
    """
    cut = text if len(text) <= longest else f"{text[:longest]}…"
    seen = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in cut)
    return html("<bdi>{text}</bdi>", text=seen)


def facts(said: Mapping[str, str | Html]) -> Html:
    rows = (html("<dt>{name}</dt><dd>{fact}</dd>", name=name, fact=said[name]) for name in said)
    return html('<dl class="facts">{rows}</dl>', rows=joined(*rows))


def section(title: str, *parts: Html) -> Html:
    return html("<section><h2>{title}</h2>{parts}</section>", title=title, parts=joined(*parts))


def button(label: str, *, name: str = "", value: str = "", primary: bool = True) -> Html:
    answer = html(' name="{name}" value="{value}"', name=name, value=value) if name else NOTHING
    return html(
        '<button class="{looks}"{answer}>{label}</button>',
        looks="btn pri" if primary else "btn",
        answer=answer,
        label=label,
    )


def way(label: str, to: str, *, primary: bool = True) -> Html:
    """Link to a page of this server, looking like the button it stands in for."""
    looks = "btn pri" if primary else "btn"
    return html('<a class="{looks}" href="{to}">{label}</a>', looks=looks, to=to, label=label)


def form(action: str, *parts: Html, hidden: Mapping[str, str] | None = None) -> Html:
    kept = (
        html('<input type="hidden" name="{name}" value="{value}">', name=name, value=value)
        for name, value in (hidden or {}).items()
    )
    return html(
        '<form method="post" action="{action}">{inside}</form>',
        action=action,
        inside=joined(*kept, *parts),
    )


def alert(problem: Problem | None) -> Html:
    if problem is None:
        return NOTHING
    return html(
        '<div class="alert" role="alert">{icon}<div><p>{detail}</p>{hint}</div></div>',
        icon=FAILED,
        detail=problem.detail,
        hint=paragraph(problem.hint) if problem.hint else NOTHING,
    )


FAILED = Html(
    '<svg class="i" viewBox="0 0 16 16" aria-hidden="true">'
    '<path d="M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5z"/><path d="m6 6 4 4M10 6l-4 4"/></svg>'
)
"""The octagon that says "failed" everywhere in Clusterra."""
