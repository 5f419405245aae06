"""In a browser: signed in by the provider, still signed in later, signed out of both."""

from tests.browser import Browser
from tests.e2e.sign_in.conftest import Lab


def test_whoever_the_rules_let_in_sees_who_and_what_they_are(browser: Browser, lab: Lab) -> None:
    with browser.page() as page:
        page.goto(lab.place.url)
        page.get_by_role("heading", name="Sign in to Clusterra").wait_for()
        assert page.url == f"{lab.place.url}/login?to=%2F"

        lab.place.arrive(page, "ana@lab.example")

        page.get_by_role("heading", name="Ana, you are in 1 workspace with 1 cluster.").wait_for()
        page.get_by_role("row", name="The lab Admin far-away").wait_for()
        linux = page.get_by_role("complementary").inner_text()
    assert "ana" in linux.split()
    [granted] = lab.place.audit("user.access.granted", email="ana@lab.example")
    assert granted["data"]["by_rule"] == "group hpc-admins"
    assert str(granted["data"]["uid"]) in linux.split()


def test_a_member_by_the_domain_is_a_member(browser: Browser, lab: Lab) -> None:
    with browser.page() as page:
        lab.place.arrive(page, "ben@lab.example")
        page.get_by_role("row", name="The lab Member far-away").wait_for()
    [granted] = lab.place.audit("user.access.granted", email="ben@lab.example")
    assert granted["data"]["by_rule"] == "domain lab.example"


def test_no_script_sees_the_session_and_no_other_site_sends_it(browser: Browser, lab: Lab) -> None:
    with browser.page() as page:
        lab.place.arrive(page, "ben@lab.example")
        cookies = {each["name"]: each for each in page.context.cookies(f"{lab.place.url}/v1/auth")}
        assert page.evaluate("document.cookie") == ""

    assert set(cookies) == {"clusterra_session", "clusterra_refresh"}
    for each in cookies.values():
        assert each["httpOnly"]
        assert each["sameSite"] == "Lax"
    assert cookies["clusterra_session"]["path"] == "/"
    assert cookies["clusterra_refresh"]["path"] == "/v1/auth"


def test_who_comes_back_later_is_still_signed_in(browser: Browser, lab: Lab) -> None:
    with browser.page() as page:
        lab.place.arrive(page, "ben@lab.example")
        page.reload()
        page.get_by_text("Signed in as ben@lab.example").wait_for()

        # As when its quarter of an hour is over: browsers drop what has run out.
        page.context.clear_cookies(name="clusterra_session")
        page.goto(lab.place.url)

        page.get_by_text("Signed in as ben@lab.example").wait_for()
        assert page.url == f"{lab.place.url}/"


def test_signing_out_ends_it_here_and_at_the_provider(browser: Browser, lab: Lab) -> None:
    with browser.page() as page:
        lab.place.arrive(page, "ben@lab.example")
        before = page.context.storage_state()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{lab.provider.issuer}/**")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{lab.place.url}/signed-out**")
        page.get_by_role("heading", name="You are signed out").wait_for()
        assert page.context.cookies(lab.place.url) == []

        page.get_by_role("link", name="Sign in again").click()
        page.get_by_role("link", name="Continue with").click()
        # The provider has forgotten them as well: it asks who it is.
        page.get_by_label("E-mail").wait_for()
    with browser.page(storage_state=before) as thief:
        assert thief.request.get(f"{lab.place.url}/v1/users/me").status == 401
        thief.goto(lab.place.url)
        thief.get_by_role("heading", name="Sign in to Clusterra").wait_for()

    left = lab.place.audit("user.logout", email="ben@lab.example")[0]
    assert left["authid"] == "ben@lab.example"
    assert left["data"]["why"] == ""
    assert left["data"]["how"] == "oidc"


def test_signing_in_leads_to_the_page_that_was_wanted(browser: Browser, lab: Lab) -> None:
    with browser.page() as page:
        page.goto(f"{lab.place.url}/device")
        page.get_by_role("link", name="Continue with").click()
        page.get_by_label("E-mail").fill("ben@lab.example")
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("heading", name="Enter the code from your terminal").wait_for()
        assert page.url == f"{lab.place.url}/device"


def test_the_ledger_tells_admins_of_everybody_and_others_of_themselves(
    browser: Browser, lab: Lab
) -> None:
    with browser.page(user_agent="Somebodys browser/1") as page:
        lab.place.arrive(page, "ben@lab.example")
        own = page.request.get(f"{lab.place.url}/v1/audit").json()["events"]
    with browser.page() as page:
        lab.place.arrive(page, "ana@lab.example")
        all = page.request.get(f"{lab.place.url}/v1/audit").json()["events"]

    assert {each["subject"] for each in own} == {"user/ben@lab.example"}
    assert {"ana@lab.example", "ben@lab.example"} <= {each["authid"] for each in all}
    told = own[0]
    assert (told["type"], told["subject"]) == ("user.login", "user/ben@lab.example")
    assert told["data"] == {
        "email": "ben@lab.example",
        "address": "127.0.0.1",
        "agent": "Somebodys browser/1",
        "how": "oidc",
    }
