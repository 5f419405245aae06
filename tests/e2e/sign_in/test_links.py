"""Without a provider: one-time links for people, tokens for programs."""

from tests.browser import Browser
from tests.e2e.sign_in.place import REFUSED, Place


def test_a_link_signs_its_owner_in_once(browser: Browser, alone: Place) -> None:
    url = alone.owner.answer("people", "link")["url"]
    with browser.page() as page:
        page.goto(url)
        page.get_by_text("Signed in as pi@lab.example").wait_for()
        page.get_by_role("row", name="The lab Owner far-away").wait_for()
        # The code is in no address that stays behind.
        assert page.url == f"{alone.url}/"
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="You are signed out").wait_for()

    with browser.page(excused=REFUSED) as page:
        answer = page.goto(url)
        assert answer is not None
        assert answer.status == 401
        page.get_by_role("heading", name="This link signs nobody in").wait_for()
        assert "has been used" in page.get_by_role("alert").inner_text()
        assert page.request.get(f"{alone.url}/v1/users/me").status == 401
    assert alone.audit("user.login_failed")[0]["data"]["why"] == "link-used"


def test_a_link_that_comes_from_another_site_asks_before_it_is_used(
    browser: Browser, alone: Place
) -> None:
    url = alone.owner.answer("people", "link")["url"]
    with browser.page() as page:
        page.set_content(f'<a href="{url}">Look</a>')
        page.get_by_role("link", name="Look").click()
        page.get_by_role("heading", name="Sign in as pi@lab.example?").wait_for()
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("Signed in as pi@lab.example").wait_for()


def test_who_is_invited_comes_in_by_the_link_they_are_sent(browser: Browser, alone: Place) -> None:
    invited = alone.owner.answer("people", "invite", "ana@lab.example")
    with browser.page() as page:
        page.goto(invited["url"])
        page.get_by_text("Signed in as ana@lab.example").wait_for()
        page.get_by_role("row", name="The lab Member far-away").wait_for()
        terminal = alone.terminal("ana")
        alone.let_in(page, terminal)

    assert terminal.answer("whoami")["email"] == "ana@lab.example"
    [granted] = alone.audit("user.access.granted", email="ana@lab.example")
    assert granted["authid"] == "pi@lab.example"
    assert granted["data"]["address"] == "127.0.0.1"
    assert granted["data"]["agent"].startswith("clusterra/")
    ways = [each["data"]["how"] for each in alone.audit("user.login", email="ana@lab.example")]
    assert ways == ["device", "link"]


def test_a_program_is_let_in_by_its_token(alone: Place) -> None:
    token = alone.owner.ok("people", "invite", "ci@lab.example", "--token").strip()
    program = alone.terminal("ci", CLUSTERRA_URL=alone.url, CLUSTERRA_TOKEN=token)

    me = program.answer("whoami")

    assert (me["email"], me["by"]) == ("ci@lab.example", "token")
    [made] = alone.audit("admin.token.created", email="ci@lab.example")
    assert made["authid"] == "pi@lab.example"
    assert token not in str(alone.owner.answer("audit"))


def test_who_comes_to_the_front_door_learns_how_to_get_a_link(
    browser: Browser, alone: Place
) -> None:
    with browser.page() as page:
        page.goto(alone.url)
        page.get_by_role("heading", name="Sign in to Clusterra").wait_for()
        said = page.get_by_role("main").inner_text()
    assert "clusterra people link" in said
    assert "clusterra people invite" in said
