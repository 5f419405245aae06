"""Who is not let in, and what they are told; and what changes when the provider says other things."""

from typing import TYPE_CHECKING

from tests.browser import Browser
from tests.e2e.sign_in.conftest import Lab
from tests.e2e.sign_in.place import REFUSED

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_new_keys_of_the_provider_are_found_by_the_sign_in_that_needs_them(
    browser: Browser, lab: Lab
) -> None:
    with browser.page() as page:
        lab.place.arrive(page, "kim@lab.example")
    lab.provider.rotate(forget=True)
    with browser.page() as page:
        lab.place.arrive(page, "kim@lab.example")


def test_an_address_that_is_not_verified_lets_nobody_in(browser: Browser, lab: Lab) -> None:
    with browser.page(excused=REFUSED) as page:
        lab.place.sign_in(page, "hal@lab.example")
        said = page.get_by_role("alert").inner_text()
        _nobody(lab, page)

    assert "verified" in said
    assert "Lab SSO" in said
    failed = lab.place.audit("user.login_failed")[0]
    assert failed["data"]["why"] == "email-not-verified"
    assert failed["data"]["how"] == "oidc"
    assert failed["data"]["address"] == "127.0.0.1"
    assert "Chrom" in failed["data"]["agent"]


def test_who_came_with_the_wrong_account_is_asked_who_they_are_again(
    browser: Browser, lab: Lab
) -> None:
    with browser.page(excused=REFUSED) as page:
        lab.place.sign_in(page, "hal@lab.example")
        # The provider knows them by now, and would otherwise send them straight back.
        page.get_by_role("link", name="Use another account").click()
        page.get_by_label("E-mail").wait_for()
        assert page.url.startswith(lab.provider.issuer)


def test_who_is_in_no_workspace_learns_whom_to_ask_for_what(browser: Browser, lab: Lab) -> None:
    with browser.page(excused=REFUSED) as page:
        lab.place.sign_in(page, "ida@else.example")
        said = page.get_by_role("alert").inner_text()
        _nobody(lab, page)
    assert "ida@else.example is in no workspace here." in said
    assert "clusterra people invite ida@else.example" in said
    [failed] = lab.place.audit("user.login_failed", email="ida@else.example")
    assert failed["data"]["why"] == "not-invited"

    lab.place.owner.ok("people", "invite", "ida@else.example", "--role", "viewer")
    with browser.page() as page:
        lab.place.arrive(page, "ida@else.example")
        page.get_by_role("row", name="The lab Viewer far-away").wait_for()


def test_a_group_that_is_taken_away_takes_its_role_with_it(browser: Browser, lab: Lab) -> None:
    with browser.page() as page:
        lab.place.arrive(page, "finn@lab.example")
        page.get_by_role("row", name="The lab Admin far-away").wait_for()

    lab.provider.change("finn@lab.example", groups=[])
    with browser.page() as page:
        lab.place.arrive(page, "finn@lab.example")
        page.get_by_role("row", name="The lab Member far-away").wait_for()

    granted = lab.place.audit("user.access.granted", email="finn@lab.example")
    assert [(each["data"]["role"], each["data"]["by_rule"]) for each in granted] == [
        ("member", "domain lab.example"),
        ("admin", "group hpc-admins"),
    ]


def test_who_was_in_only_by_a_group_is_out_without_it(browser: Browser, lab: Lab) -> None:
    with browser.page() as page:
        lab.place.arrive(page, "gus@else.example")
        kept = page.context.storage_state()

    lab.provider.change("gus@else.example", groups=[])
    with browser.page(excused=REFUSED) as page:
        lab.place.sign_in(page, "gus@else.example")
        assert "gus@else.example is in no workspace" in page.get_by_role("alert").inner_text()
    with browser.page(storage_state=kept) as page:
        # And where they were signed in before, they are no longer.
        page.goto(lab.place.url)
        page.get_by_role("heading", name="Sign in to Clusterra").wait_for()

    [revoked] = lab.place.audit("user.access.revoked", email="gus@else.example")
    assert revoked["data"]["by_rule"] == "group guests"


def test_who_cancels_at_the_provider_can_simply_try_again(browser: Browser, lab: Lab) -> None:
    with browser.page(excused=REFUSED) as page:
        page.goto(lab.place.url)
        page.get_by_role("link", name="Continue with").click()
        page.get_by_role("button", name="Cancel").click()
        said = page.get_by_role("alert").inner_text()
        assert "Signing in was cancelled at Lab SSO." in said

        page.get_by_role("link", name="Try again").click()
        page.get_by_role("link", name="Continue with").click()
        page.get_by_label("E-mail").fill("kim@lab.example")
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("Signed in as kim@lab.example").wait_for()


def test_a_strangers_link_does_not_have_the_server_say_what_it_likes(
    browser: Browser, lab: Lab
) -> None:
    with browser.page(excused=REFUSED) as page:
        page.goto(f"{lab.place.url}/auth/callback?error=x&error_description=Call+555-0100")
        said = page.get_by_role("alert").inner_text()
    assert "was not begun in this browser" in said
    assert "555" not in said


def test_a_sign_in_that_another_browser_began_is_refused(browser: Browser, lab: Lab) -> None:
    with browser.page(excused=REFUSED) as victim, browser.page() as attacker:
        mine = attacker.request.get(f"{lab.place.url}/auth/start", max_redirects=0)
        back = lab.provider.sign_in(mine.headers["location"], "lea@lab.example")

        for began in (False, True):
            if began:  # with a sign-in of its own under way
                victim.request.get(f"{lab.place.url}/auth/start", max_redirects=0)
            answer = victim.goto(back)
            assert answer is not None
            assert answer.status == 401
            said = victim.get_by_role("alert").inner_text()
            assert "was not begun in this browser" in said
            _nobody(lab, victim)

        # Nothing was used up: it is refused before the provider is asked.
        attacker.goto(back)
        attacker.get_by_text("Signed in as lea@lab.example").wait_for()
    assert lab.place.audit("user.login_failed")[0]["data"]["why"] == "bad-state"


def test_an_address_that_was_come_back_to_works_once(browser: Browser, lab: Lab) -> None:
    with browser.page(excused=REFUSED) as page:
        began = page.request.get(f"{lab.place.url}/auth/start", max_redirects=0)
        back = lab.provider.sign_in(began.headers["location"], "max@lab.example")
        leaving = page.context.storage_state()
        page.goto(back)
        page.get_by_text("Signed in as max@lab.example").wait_for()

        answer = page.goto(back)
        assert answer is not None
        assert answer.status == 401
    with browser.page(excused=REFUSED, storage_state=leaving) as page:
        # Also with all that the browser had then: the provider takes a code once.
        answer = page.goto(back)
        assert answer is not None
        assert answer.status == 401
        assert "did not take the code" in page.get_by_role("alert").inner_text()
        _nobody(lab, page)
    assert lab.place.audit("user.login_failed")[0]["data"]["why"] == "code-refused"


def _nobody(lab: Lab, page: "Page") -> None:
    """Say that nobody is signed in in this browser."""
    assert page.request.get(f"{lab.place.url}/v1/users/me").status == 401
