"""Letting a terminal in: its code is entered, it is looked at, it is approved or not."""

from clusterra.api.pages.frame import door
from clusterra.api.pages.markup import Html, html
from clusterra.api.pages.parts import (
    NOTHING,
    Problem,
    alert,
    button,
    facts,
    form,
    heading,
    hint,
    paragraph,
    stranger,
    typed,
)

_TITLE = "Let a terminal in"


def device(*, person: str, code: str = "", problem: Problem | None = None) -> str:
    """Ask for the code that a terminal shows."""
    return door(
        _TITLE,
        heading("Enter the code from your terminal"),
        paragraph(html("{login} shows it there.", login=typed("clusterra login"))),
        alert(problem),
        form("/device", _code_field(code, wrong=problem is not None), button("Continue")),
        _signed_in_as(person),
    )


def device_request(*, person: str, code: str, asking: str, address: str, when: str) -> str:
    """Show who asks, and ask the person."""
    return door(
        _TITLE,
        heading("Let this terminal act as you?"),
        paragraph("Only approve what you started yourself, and only if it shows this same code."),
        html('<p class="code">{code}</p>', code=code),
        facts({"Asking": stranger(asking), "From": stranger(address), "At": when}),
        form(
            "/device",
            html(
                '<div class="pair">{approve}{deny}</div>',
                approve=button("Approve", name="answer", value="approve"),
                deny=button("Deny", name="answer", value="deny", primary=False),
            ),
            hidden={"code": code},
        ),
        _signed_in_as(person),
    )


def device_done(*, approved: bool, asking: str) -> str:
    if approved:
        return door(
            "Approved",
            heading("Approved: go back to your terminal"),
            paragraph(html("{asking} now acts as you.", asking=stranger(asking))),
            hint(html("To end that, run {logout} there.", logout=typed("clusterra logout"))),
        )
    return door(
        "Denied",
        heading("Nothing was given"),
        paragraph(html("{asking} can do nothing in your name.", asking=stranger(asking))),
        hint("If you did not start it, somebody tried to act as you: tell an admin."),
    )


def _code_field(code: str, *, wrong: bool) -> Html:
    return html(
        '<div class="field"><label for="code">Code</label>'
        '<input id="code" class="code" name="code" value="{code}" required maxlength="32" '
        'autofocus autocomplete="off" autocapitalize="characters" spellcheck="false" '
        'inputmode="text"{wrong}></div>',
        code=code,
        wrong=Html(' aria-invalid="true"') if wrong else NOTHING,
    )


def _signed_in_as(person: str) -> Html:
    return hint(html("You are signed in as <b>{person}</b>.", person=person))
