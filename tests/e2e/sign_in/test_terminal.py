"""In a terminal: `clusterra login` is let in by a browser, goes on by itself, and goes out."""

import json
import platform
import shutil

from tests.browser import Browser
from tests.e2e.sign_in.conftest import Lab


def test_a_terminal_is_let_in_by_a_browser_that_sees_which_one_asks(
    browser: Browser, lab: Lab
) -> None:
    terminal = lab.place.terminal("cleo")
    login = lab.place.begin_login(terminal)
    with browser.page() as page:
        # Signed in nowhere yet: the address leads there through signing in.
        page.goto(login.address)
        page.get_by_role("link", name="Continue with").click()
        page.get_by_label("E-mail").fill("cleo@lab.example")
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("heading", name="Let this terminal act as you?").wait_for()
        seen = page.get_by_role("main").inner_text()
        page.get_by_role("button", name="Approve").click()
        page.get_by_role("heading", name="Approved: go back to your terminal").wait_for()
    code, said, complained = login.ended()

    assert (code, complained) == (0, "")
    assert f"You are signed in at {lab.place.url} as cleo@lab.example: Linux user cleo (" in said
    assert "member of The lab" in said
    for shown in (login.code, f"clusterra on {platform.node()}", "127.0.0.1", "cleo@lab.example"):
        assert shown in seen
    # No address is named any more: it is the one that was signed in to last.
    me = terminal.answer("whoami")
    assert (me["email"], me["by"], me["login"]) == ("cleo@lab.example", "session", "cleo")
    assert terminal.credentials.stat().st_mode & 0o077 == 0
    [came] = [
        each
        for each in lab.place.audit("user.login", email="cleo@lab.example")
        if each["data"]["how"] == "device"
    ]
    assert came["authid"] == "cleo@lab.example"
    assert came["data"]["address"] == "127.0.0.1"
    assert came["data"]["agent"] == f"clusterra on {platform.node()}"


def test_a_terminal_may_do_what_its_person_may_and_no_more(browser: Browser, lab: Lab) -> None:
    admin, member = lab.place.terminal("ana"), lab.place.terminal("dora")
    with browser.page() as page:
        lab.place.arrive(page, "ana@lab.example")
        lab.place.let_in(page, admin)
    with browser.page() as page:
        lab.place.arrive(page, "dora@lab.example")
        lab.place.let_in(page, member)

    invited = admin.answer("people", "invite", "zoe@else.example", "--role", "viewer")
    refused = member.run("people", "invite", "yan@else.example")
    listed = {each["email"]: each["role"] for each in member.answer("people", "list")["people"]}

    # With a provider there is no link to send: they sign in like everybody.
    assert invited["url"] == lab.place.url
    assert refused.returncode != 0
    assert "one has to be an admin; you are a member" in refused.stderr
    assert listed["ana@lab.example"] == "admin"
    assert listed["dora@lab.example"] == "member"
    assert listed["zoe@else.example"] == "viewer"
    assert "yan@else.example" not in listed


def test_a_terminal_that_is_denied_says_so_and_keeps_nothing(browser: Browser, lab: Lab) -> None:
    terminal = lab.place.terminal("denied")
    login = lab.place.begin_login(terminal)
    with browser.page() as page:
        lab.place.arrive(page, "eva@lab.example")
        page.goto(login.address)
        page.get_by_role("button", name="Deny").click()
        page.get_by_role("heading", name="Nothing was given").wait_for()
    code, _, complained = login.ended()

    assert code != 0
    assert f"{login.code} was turned down in the browser. Nothing was stored." in complained
    assert not terminal.credentials.exists()


def test_two_terminals_of_one_person_come_and_go_on_their_own(browser: Browser, lab: Lab) -> None:
    laptop, desktop = lab.place.terminal("eva-laptop"), lab.place.terminal("eva-desktop")
    logins = [lab.place.begin_login(each) for each in (laptop, desktop)]
    with browser.page() as page:
        lab.place.arrive(page, "eva@lab.example")
        for login in reversed(logins):
            page.goto(login.address)
            page.get_by_role("button", name="Approve").click()
            page.get_by_role("heading", name="Approved").wait_for()
    assert [login.ended()[0] for login in logins] == [0, 0]
    assert laptop.answer("whoami")["email"] == desktop.answer("whoami")["email"]

    told = laptop.ok("logout")
    refused = laptop.run("whoami", "--url", lab.place.url)

    assert f"eva@lab.example is signed out of {lab.place.url}." in told
    assert refused.returncode != 0
    assert "clusterra login" in refused.stderr
    assert desktop.answer("whoami")["email"] == "eva@lab.example"


def test_a_stolen_refresh_token_ends_the_session_for_both(browser: Browser, lab: Lab) -> None:
    mine, thief = lab.place.terminal("jo"), lab.place.terminal("thief")
    with browser.page() as page:
        lab.place.arrive(page, "jo@lab.example")
        lab.place.let_in(page, mine)
    shutil.copytree(mine.home, thief.home)
    tokens = set()
    for _ in range(2):
        # Twice: the token before the last counts for a moment longer, for commands at one time.
        mine.let_access_end(lab.place.url)
        assert mine.answer("whoami")["email"] == "jo@lab.example"
        kept = json.loads(mine.credentials.read_text())
        tokens.add(kept["sessions"][lab.place.url]["refresh_token"])
    assert len(tokens) == 2

    thief.let_access_end(lab.place.url)
    for robbed in (thief.run("whoami"), mine.run("whoami")):
        assert robbed.returncode != 0
        assert "has ended" in robbed.stderr
        assert "clusterra login" in robbed.stderr

    [ended] = lab.place.audit("user.logout", email="jo@lab.example")
    assert ended["data"]["why"] == "refresh-token-reused"
    assert ended["authtype"] == "system"
    assert ended["data"]["agent"].startswith("clusterra/")
