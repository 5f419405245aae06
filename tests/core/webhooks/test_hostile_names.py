"""No name that anybody can choose means anything where a message about it is read."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.webhooks.endpoint import Format
from clusterra.core.webhooks.formats.escape import for_slack
from clusterra.core.webhooks.formats.render import mailed, rendered
from clusterra.core.webhooks.formats.teams import LARGEST
from clusterra.core.webhooks.telling import JobContext, Telling
from clusterra.core.webhooks.tidy import tidy
from tests.core.webhooks.tellings import ALIGN, HOSTILE, MUMBAI, a_telling

TRICKS = st.sampled_from(
    (
        *("<!channel>", "<!here|x>", "<@U1>", "<#C1>", "<https://evil.example|ok>", "@here"),
        *("@everyone", "*", "_", "~", "`", "```", "> ", "\n", "\r\n", "\x00", "\u202e", "\u2066"),
        *("\u2028", "\ud800", "[x](javascript:alert(1))", "{{DATE(x)}}", "${{ secrets.X }}"),
        *("$(id)", "`id`", ";rm -rf /", "<script>", "</p>", '"', "'", "&lt;", "\x1b[2J"),
        *("\N{PILE OF POO}", "&" * 500, "x" * 65_536),
    )
)
NAMES = st.lists(TRICKS | st.text(max_size=20), max_size=6).map("".join)
TYPES = st.sampled_from(
    (
        *("job.started", "job.failed", "job.cancelled", "job.completed", "job.cost.over_quota"),
        *("node.down", "fleet.shortage", "user.login_failed", "webhook.disabled"),
        "automation.fired",
    )
)


@st.composite
def any_telling(draw: st.DrawFn) -> Telling:
    def name() -> str:
        return draw(NAMES)

    words = {"name": name(), "user": name(), "partition": name(), "why": name(), "email": name()}
    data: dict[str, Any] = ALIGN | words | {"reason": name(), "shape": name(), "ran_seconds": 1}
    return a_telling(
        draw(TYPES),
        cluster=name(),
        subject=f"node/{name()}",
        actor=f"user:{name()}",
        data=data | draw(st.sampled_from([{}, {"array_id": 43, "label": "43_[1-4]"}])),
        job=JobContext(
            cause=name(),
            advice=name(),
            nodes=(name(),),
            last_lines=(name(), name()),
            artifacts=(name(),),
        ),
    )


TELLINGS = st.lists(any_telling(), min_size=1, max_size=3)


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


def is_visible(text: str) -> bool:
    return not re.search(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]", text
    )


@given(TELLINGS)
def test_slack_reads_no_mention_no_link_and_no_markup_and_takes_the_message(
    told: list[Telling],
) -> None:
    body = json.loads(rendered(Format.SLACK, told, MUMBAI).body)

    assert len(body["blocks"]) <= 50
    for text in texts(body):
        assert is_visible(text)
        assert len(text) <= 3000 + 11 * 270
        # The only address is ours.
        assert (
            re.sub(r"<https://hpc\.lab\.example/[\w/-]+\|Open [\w \[\]-]+>", "", text).count("<")
            == 0
        )
        assert not re.search("@(here|channel|everyone)", text, re.IGNORECASE)
    for block in body["blocks"]:
        fields = block.get("fields", [])
        assert len(fields) <= 10
        assert all(len(each["text"]) <= 2000 for each in fields)
        assert len(block.get("text", {}).get("text", "")) <= 3000
    lead = body["blocks"][0]["text"]["text"]
    assert lead.count("*") in (0, 2)
    assert "`" not in lead
    assert all(text.count("`") in (0, 6) for text in texts(body))


@given(TELLINGS)
def test_teams_reads_no_link_and_no_markup_and_takes_the_card(told: list[Telling]) -> None:
    raw = rendered(Format.TEAMS, told, MUMBAI).body
    card = json.loads(raw)["attachments"][0]["content"]

    assert len(raw) <= LARGEST
    for text in texts(card):
        assert is_visible(text)
        assert not re.search(r"\]\(|\{\{", text)
    for part in card["body"]:
        if part["type"] == "FactSet":
            assert all(not re.search("[<>*`~]", fact["value"]) for fact in part["facts"])


@given(any_telling())
def test_a_workflow_on_github_gets_nothing_that_a_shell_reads(told: Telling) -> None:
    body = json.loads(rendered(Format.GITHUB, [told], MUMBAI).body)

    assert len(body["event_type"]) <= 100
    assert len(body["client_payload"]) <= 10
    assert all(not re.search(r"[\s$`\"'\\;&|<>(){}*?!~#]", text) for text in texts(body))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {tag, *(f"{tag}.{name}" for name, _ in attrs)}


@given(TELLINGS)
def test_an_email_has_one_line_for_a_subject_and_only_our_own_tags(told: list[Telling]) -> None:
    mail = mailed(told, MUMBAI, to=("ana@lab.example",))
    tags = Tags()
    tags.feed(mail.html)

    assert 0 < len(mail.subject) <= 120
    assert mail.subject.splitlines() == [mail.subject]
    assert is_visible(mail.subject + mail.text + mail.html)
    assert tags.seen <= {
        *("html", "body", "p", "strong", "ul", "li", "table", "tr", "td", "pre", "a"),
        *("body.style", "p.style", "td.style", "a.href"),
    }


def test_a_name_that_only_looks_odd_stays_as_it_is() -> None:
    assert for_slack("my_job.v2 (43_[6-9]), 2 > 1") == "my_job.v2 (43_[6-9]), 2 &gt; 1"
    assert tidy("naïve 日本語 👩‍🔬 می‌خواهم") == "naïve 日本語 👩‍🔬 می‌خواهم"


def test_a_name_of_a_megabyte_keeps_both_ends() -> None:
    cut = tidy("begin" + "x" * 1_000_000 + "end", 80)

    assert len(cut) == 80
    assert cut.startswith("beginx")
    assert cut.endswith("xend")


def test_what_a_text_is_cut_to_holds_after_escaping() -> None:
    assert len(for_slack("&" * 10_000, 300)) <= 300
    assert for_slack(HOSTILE).count("<") == 0
