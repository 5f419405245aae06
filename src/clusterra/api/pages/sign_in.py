"""Coming in and going out: the sign-in page, the one-time link, and having signed out."""

from urllib.parse import urlencode

from clusterra.api.pages.frame import door
from clusterra.api.pages.markup import Html, html, joined
from clusterra.api.pages.parts import (
    NOTHING,
    Problem,
    alert,
    button,
    command,
    form,
    heading,
    hint,
    paragraph,
    section,
    typed,
    way,
)


def sign_in(*, provider: str, to: str, problem: Problem | None = None, where: str = "") -> str:
    """Ask who it is: by the identity provider of that name, or by a one-time link if "".

    `to` is the page the person wanted; `where` is this server's host name, if known.
    """
    return door(
        "Sign in",
        heading("Sign in to Clusterra"),
        paragraph(html("at {host}", host=typed(where))) if where else NOTHING,
        alert(problem),
        _by_provider(provider, to) if provider else _by_link(),
    )


def _by_provider(provider: str, to: str) -> Html:
    # A link and not a form: Chromium holds a form to `form-action 'self'` through redirects as
    # well, and this one ends at the provider, or wherever the provider sends people from there.
    return joined(
        way(f"Continue with {provider}", f"/auth/start?{urlencode({'to': to})}"),
        hint(html("From a terminal: {login}.", login=typed("clusterra login"))),
    )


def _by_link() -> Html:
    return joined(
        paragraph("This server signs people in by one-time links."),
        section(
            "If you have a terminal that is signed in",
            hint("It prints a fresh link for you:"),
            command("clusterra people link"),
        ),
        section(
            "If you are new here",
            hint("Ask an admin to run this, and to send you the link it prints:"),
            command("clusterra people invite you@lab.example"),
        ),
    )


def link(*, code: str, email: str, workspace: str, problem: Problem | None = None) -> str:
    """Ask before a one-time link is used up; without an e-mail there is nobody to sign in."""
    if not email:
        return door("Sign in", heading("This link signs nobody in"), alert(problem), _by_link())
    return door(
        "Sign in",
        heading(f"Sign in as {email}?"),
        paragraph(html("In the workspace <b>{name}</b>.", name=workspace))
        if workspace
        else NOTHING,
        alert(problem),
        form("/auth/link", button("Sign in"), hidden={"code": code}),
        hint("The link works once. If you did not ask for it, close this page: nothing happens."),
    )


def signed_out(*, provider_too: bool) -> str:
    return door(
        "Signed out",
        heading("You are signed out"),
        paragraph(
            "Of Clusterra and of your identity provider, in this browser."
            if provider_too
            else "Of Clusterra, in this browser. If you came by an identity provider, it may still "
            "know you here: sign out there too if others use this computer."
        ),
        way("Sign in again", "/", primary=False),
    )
