"""The pages people sign in with: what they ask, where it goes, and that nobody can write on them."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.api import pages
from clusterra.core.errors import Unauthenticated
from tests.browser import Browser
from tests.browser import browser as browser
from tests.browser import chromium as chromium

Attributes = dict[str, str]


@dataclass
class Read(HTMLParser):
    """A page as a browser takes it apart."""

    page: str
    tags: list[tuple[str, Attributes]] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[Attributes]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def title(self) -> str:
        return self.page.partition("<title>")[2].partition("</title>")[0]

    @property
    def fields(self) -> dict[str, str]:
        return {each["name"]: each.get("value", "") for each in self.all("input")}

    @property
    def answers(self) -> list[tuple[str, str]]:
        return [(each["name"], each["value"]) for each in self.all("button") if "name" in each]

    @property
    def bones(self) -> list[tuple[str, list[str]]]:
        """What is left of the page without anybody's words."""
        return [(tag, sorted(attributes)) for tag, attributes in self.tags]


def problem(text: str = "That did not work.") -> Unauthenticated:
    return Unauthenticated(text, hint=text)


PAGES: dict[str, Callable[[str], str]] = {
    "sign_in": lambda it: pages.sign_in(provider=it, to=it, problem=problem(it), where=it),
    "sign_in_by_link": lambda it: pages.sign_in(provider="", to=it, problem=problem(it)),
    "link": lambda it: pages.link(code=it, email=it, workspace=it, problem=problem(it)),
    "link_of_nobody": lambda it: pages.link(code=it, email="", workspace=it, problem=problem(it)),
    "device": lambda it: pages.device(person=it, code=it, problem=problem(it)),
    "device_request": lambda it: pages.device_request(
        person=it, code=it, asking=it, address=it, when=it
    ),
    "approved": lambda it: pages.device_done(approved=True, asking=it),
    "denied": lambda it: pages.device_done(approved=False, asking=it),
    "home": lambda it: pages.home(
        name=it, email=it, login=it, uid=20_011, workspaces=[(it, it, [it, it])]
    ),
    "home_of_nobody_yet": lambda it: pages.home(
        name="", email=it, login="", uid=None, workspaces=[]
    ),
    "signed_out": lambda it: pages.signed_out(provider_too=False),
    "trouble": lambda it: pages.trouble(title=it, detail=it, hint=it, again=it),
}
"""Every page, with the same words wherever it says something that others chose."""

HOSTILE = """"'><script>alert(1)</script><img src=//evil.example/x onerror=alert(1)>&lt;{0}{name}"""

each_page = pytest.mark.parametrize("made", PAGES.values(), ids=PAGES)


@each_page
def test_a_page_is_a_whole_document_with_one_heading(made: Callable[[str], str]) -> None:
    read = Read(made("ana@lab.example"))

    assert read.page.startswith("<!doctype html>")
    assert read.all("html") == [{"lang": "en"}]
    assert len(read.all("h1")) == len(read.all("main")) == 1
    assert re.fullmatch(r".+ · Clusterra", read.title)


@each_page
def test_a_page_needs_no_script_and_nothing_from_elsewhere(made: Callable[[str], str]) -> None:
    read = Read(made("/ana"))

    assert not read.all("script")
    assert not [tag for tag, names in read.bones if any(name.startswith("on") for name in names)]
    assert not [tag for tag, names in read.bones if "style" in names or "src" in names]
    for tag, attributes in read.tags:
        for name in {"href", "action"} & attributes.keys():
            assert re.match(r"/(?!/)|#|data:image/svg", attributes[name]), (tag, attributes)
    assert "://" not in read.page


@each_page
def test_every_field_a_person_fills_in_has_a_label(made: Callable[[str], str]) -> None:
    read = Read(made("ana"))

    seen = [each["id"] for each in read.all("input") if each.get("type") != "hidden"]
    assert seen == [each["for"] for each in read.all("label")]


@each_page
def test_a_hostile_name_stays_text(made: Callable[[str], str]) -> None:
    read = Read(made(HOSTILE))

    assert read.bones == Read(made("ana")).bones
    assert "<script" not in read.page


@pytest.mark.parametrize("name", [each for each in PAGES if each != "signed_out"])
def test_what_somebody_is_called_is_shown_letter_by_letter(name: str) -> None:
    assert HOSTILE in Read(PAGES[name](HOSTILE)).text


@given(made=st.sampled_from(list(PAGES.values())), words=st.text(min_size=1))
def test_no_words_change_what_a_page_is_made_of(made: Callable[[str], str], words: str) -> None:
    assert Read(made(words)).bones == Read(made("ana")).bones


def test_a_terminal_cannot_turn_its_name_around_or_make_it_fill_the_page() -> None:
    asking = "curl\N{RIGHT-TO-LEFT OVERRIDE}evil\n" + "x" * 5_000

    page = pages.device_request(
        person="ana@lab.example", code="WDJB-MJHT", asking=asking, address="", when=""
    )

    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in page
    assert "x" * 200 not in page
    assert "curl\N{REPLACEMENT CHARACTER}evil" in page


def test_signing_in_goes_to_the_provider_and_remembers_the_page_one_wanted() -> None:
    read = Read(pages.sign_in(provider="Lab SSO", to="/device?code=A B&c", problem=None))

    assert "Continue with Lab SSO" in read.text
    (start,) = [each["href"] for each in read.all("a") if "pri" in each["class"]]
    assert urlsplit(start).path == "/auth/start"
    assert parse_qs(urlsplit(start).query) == {"to": ["/device?code=A B&c"]}


def test_without_a_provider_it_says_how_to_get_a_link() -> None:
    read = Read(pages.sign_in(provider="", to="/", problem=None))

    assert "clusterra people link" in read.text
    assert "clusterra people invite you@lab.example" in read.text
    assert "/auth/start" not in read.page


def test_a_link_signs_in_only_when_the_person_says_so() -> None:
    read = Read(pages.link(code="c0de", email="ana@lab.example", workspace="lab", problem=None))

    assert "Sign in as ana@lab.example?" in read.text
    assert read.all("form") == [{"method": "post", "action": "/auth/link"}]
    assert read.fields == {"code": "c0de"}


def test_a_link_that_is_used_up_offers_no_button_but_the_way_to_a_fresh_one() -> None:
    read = Read(pages.link(code="c0de", email="", workspace="", problem=problem("It was used.")))

    assert not read.all("form")
    assert "It was used." in read.text
    assert "clusterra people link" in read.text


def test_the_code_of_a_terminal_is_entered_into_one_field() -> None:
    read = Read(pages.device(person="ana@lab.example", code="", problem=None))

    assert read.all("form") == [{"method": "post", "action": "/device"}]
    (field,) = read.all("input")
    assert (field["name"], field["autocomplete"]) == ("code", "off")
    assert "autofocus" in field
    assert "ana@lab.example" in read.text


def test_a_terminal_is_approved_or_denied_by_the_person_who_sees_what_asks() -> None:
    read = Read(
        pages.device_request(
            person="ana@lab.example",
            code="WDJB-MJHT",
            asking="clusterra on ana-laptop",
            address="192.0.2.14",
            when="14:31:07 UTC",
        )
    )

    assert read.all("form") == [{"method": "post", "action": "/device"}]
    assert read.fields == {"code": "WDJB-MJHT"}
    assert read.answers == [("answer", "approve"), ("answer", "deny")]
    for said in ("WDJB-MJHT", "clusterra on ana-laptop", "192.0.2.14", "14:31:07 UTC"):
        assert said in read.text
    assert "Only approve what you started yourself" in read.text


def test_home_says_who_one_is_there_and_lets_one_leave() -> None:
    read = Read(
        pages.home(
            name="Ana Ruiz",
            email="ana@lab.example",
            login="ana",
            uid=20_011,
            workspaces=[("lab", "admin", ["helix", "gpu"]), ("class", "viewer", ["helix"])],
        )
    )

    assert "Ana Ruiz, you are in 2 workspaces with 2 clusters." in read.text
    for said in ("ana@lab.example", "20011", "Admin", "helix, gpu", "clusterra login"):
        assert said in read.text
    assert read.all("form") == [{"method": "post", "action": "/auth/logout"}]


@each_page
def test_a_problem_is_announced_with_its_next_step(made: Callable[[str], str]) -> None:
    read = Read(made("Wait 4 minutes."))

    alerts = [each for _, each in read.tags if each.get("role") == "alert"]
    assert len(alerts) == read.page.count('role="alert"') <= 1
    if alerts:
        assert read.page.partition('role="alert"')[2].count("<p>Wait 4 minutes.</p>") >= 2


def test_a_page_may_load_our_style_sheet_and_nothing_else() -> None:
    assert f"{sha256(pages.CSS).hexdigest()[:12]}.css" in pages.CSS_PATH
    assert pages.CSS_PATH in pages.signed_out(provider_too=True)
    assert "default-src 'none'; style-src 'self'; img-src data:;" in pages.CSP
    assert "form-action 'self'; frame-ancestors 'none'; base-uri 'none'" in pages.CSP
    assert "form-action 'self' https://sso.example;" in pages.csp("https://sso.example")
    assert not re.search(rb"://|@import|url\((?!#)", pages.CSS)


def test_every_class_has_its_rule_and_every_rule_its_use() -> None:
    rules = re.sub(r"\{[^{}]*\}|/\*.*?\*/", " ", pages.CSS.decode(), flags=re.DOTALL)
    styled = set(re.findall(r"\.([a-z][\w-]*)", rules))

    used = {
        name
        for made in PAGES.values()
        for _, attributes in Read(made("ana")).tags
        for name in attributes.get("class", "").split()
    }

    assert used == styled


@contextmanager
def shown() -> Iterator[str]:
    """Serve every page the way the server does: with its style sheet, under its policy."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            css = self.path == pages.CSS_PATH
            body = pages.CSS if css else PAGES[self.path[1:]]("ana@lab.example").encode()
            self.send_response(200)
            self.send_header("content-type", "text/css" if css else "text/html; charset=utf-8")
            self.send_header("content-security-policy", pages.CSP)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: what goes wrong shows in the browser."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join()


@pytest.mark.e2e
@pytest.mark.enable_socket
@pytest.mark.parametrize("width", [390, 820, 1440])
def test_a_browser_shows_every_page_under_its_own_policy(browser: Browser, width: int) -> None:
    size = {"width": width, "height": 844}
    with shown() as url, browser.page(viewport=size) as page:
        for name in PAGES:
            page.goto(f"{url}/{name}")

            assert page.get_by_role("heading", level=1).is_visible()
            font = page.evaluate("getComputedStyle(document.body).fontSize")
            assert font == "13px", "the style sheet was not applied"
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is wider than the screen"
