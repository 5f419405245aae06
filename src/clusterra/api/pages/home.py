"""Where a signed-in person is: who they are here, what they may use, and what to type next."""

from collections.abc import Sequence

from clusterra.api.pages.frame import room
from clusterra.api.pages.markup import Html, html, joined
from clusterra.api.pages.parts import command, facts, hint, section, typed
from clusterra.core.words import count

Membership = tuple[str, str, Sequence[str]]
"""A workspace's name, the person's role in it, and the names of its clusters."""


def home(
    *, name: str, email: str, login: str, uid: int | None, workspaces: Sequence[Membership]
) -> str:
    return room(
        "Home",
        html(
            '<h1 class="lead"><b>{name}</b>, you are in {where}.</h1>',
            name=name or email,
            where=_where(workspaces),
        ),
        html('<p class="sub">Signed in as <b>{email}</b>.</p>', email=email),
        html(
            '<div class="cols"><div>{work}</div><aside>{you}</aside></div>',
            work=joined(_workspaces(workspaces), _terminal()) if workspaces else _alone(email),
            you=_linux(login, uid),
        ),
    )


def _where(workspaces: Sequence[Membership]) -> Html:
    if not workspaces:
        return Html("no workspace yet")
    clusters = {cluster for _, _, names in workspaces for cluster in names}
    return html(
        "<b>{workspaces}</b> with <b>{clusters}</b>",
        workspaces=count(len(workspaces), "workspace"),
        clusters=count(len(clusters), "cluster"),
    )


def _alone(email: str) -> Html:
    return section(
        "Workspaces",
        hint("Ask an admin of the one you belong to for an invitation. They run:"),
        command(f"clusterra people invite {email}"),
    )


def _workspaces(workspaces: Sequence[Membership]) -> Html:
    rows = (
        html(
            '<tr><th scope="row">{name}</th><td>{role}</td><td>{clusters}</td></tr>',
            name=name,
            role=role.capitalize(),
            clusters=", ".join(clusters) or "–",
        )
        for name, role, clusters in workspaces
    )
    return section(
        "Workspaces",
        html(
            "<table><thead><tr><th>Name</th><th>Your role</th><th>Clusters</th></tr></thead>"
            "<tbody>{rows}</tbody></table>",
            rows=joined(*rows),
        ),
    )


def _terminal() -> Html:
    return section(
        "In a terminal",
        hint("Sign the terminal in once:"),
        command("clusterra login"),
        hint("Then hand it a job, and watch what becomes of it:"),
        command("clusterra jobs submit job.sh"),
        command("clusterra jobs watch"),
    )


def _linux(login: str, uid: int | None) -> Html:
    if not login:
        return section("On the clusters", hint("You get a Linux user before your first job runs."))
    return section(
        "On the clusters",
        facts(
            {
                "Linux user": typed(login),
                "uid": "not given yet" if uid is None else typed(str(uid)),
            }
        ),
        hint("Your jobs run as this user, and your files belong to it."),
    )
