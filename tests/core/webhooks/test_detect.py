"""What an address says of itself."""

import pytest

from clusterra.core.errors import Invalid
from clusterra.core.webhooks.endpoint import Format
from clusterra.core.webhooks.formats.detect import check_format, format_of, recipients, shown_url


@pytest.mark.parametrize(
    ("url", "format"),
    [
        ("https://hooks.slack.com/services/T0/B0/s3cret", Format.SLACK),
        ("https://HOOKS.SLACK.COM./services/T0/B0/s3cret", Format.SLACK),
        ("https://hooks.slack.com.evil.example/services", Format.JSON),
        ("https://evil.example/hooks.slack.com", Format.JSON),
        ("https://hooks.slack.com@evil.example/", Format.JSON),
        ("https://lab.webhook.office.com/webhookb2/1", Format.TEAMS),
        ("https://prod-1.westeurope.logic.azure.com:443/workflows/1?sig=s3cret", Format.TEAMS),
        ("https://x.environment.api.powerplatform.com/powerautomate/1", Format.TEAMS),
        ("https://api.powerplatform.com/powerautomate/1", Format.TEAMS),
        ("https://notpowerplatform.com/", Format.JSON),
        ("https://api.github.com/repos/lab/pipeline/dispatches", Format.GITHUB),
        ("https://api.github.com/repos/lab/pipeline/issues", Format.JSON),
        ("mailto:ana@lab.example", Format.EMAIL),
        ("MailTo:ana@lab.example", Format.EMAIL),
        ("https://ci.lab.example/hook", Format.JSON),
        ("https://[bad", Format.JSON),
        ("https://x:port/", Format.JSON),
        ("", Format.JSON),
    ],
)
def test_the_form_is_found_out_from_the_address(url: str, format: Format) -> None:
    assert format_of(url) is format


@pytest.mark.parametrize(
    ("url", "format", "shown"),
    [
        ("https://hooks.slack.com/services/T0/s3cret", Format.SLACK, "https://hooks.slack.com/…"),
        ("https://hooks.slack.com/services/T0/s3cret", Format.JSON, "https://hooks.slack.com/…"),
        ("https://chat.lab.example/hooks/s3cret", Format.SLACK, "https://chat.lab.example/…"),
        ("https://x.logic.azure.com:443/w?sig=s3cret", Format.TEAMS, "https://x.logic.azure.com:443/…"),
        ("https://ci.lab.example/hook?token=s3cret#s3cret", Format.JSON, "https://ci.lab.example/hook?…"),
        ("https://ana:s3cret@ci.lab.example/hook", Format.JSON, "https://…@ci.lab.example/hook"),
        ("https://api.github.com/repos/a/b/dispatches", Format.GITHUB, "https://api.github.com/repos/a/b/dispatches"),
        ("mailto:ana@lab.example,ben@lab.example", Format.EMAIL, "mailto:ana@lab.example,ben@lab.example"),
        ("https://[s3cret", Format.JSON, "…"),
    ],
)  # fmt: skip
def test_what_is_secret_in_an_address_is_not_shown(url: str, format: Format, shown: str) -> None:
    assert shown_url(url, format) == shown


def test_people_are_read_once_each_in_one_spelling() -> None:
    assert recipients("mailto:Ana@Lab.example,ben%2Bhpc@lab.example,ana@lab.example") == (
        "ana@lab.example",
        "ben+hpc@lab.example",
    )


@pytest.mark.parametrize(
    "url",
    [
        "mailto:",
        "mailto:,",
        "mailto:nobody",
        "mailto:ana@lab.example?bcc=eve@evil.example",
        "mailto:ana@lab.example%0d%0aBcc:eve@evil.example",
        "mailto:" + ",".join(f"p{number}@lab.example" for number in range(11)),
        "https://lab.example",
    ],
)
def test_an_address_that_nobody_can_be_written_to_is_refused(url: str) -> None:
    with pytest.raises(Invalid):
        recipients(url)


@pytest.mark.parametrize(
    ("url", "format", "fits"),
    [
        ("mailto:ana@lab.example", Format.EMAIL, True),
        ("mailto:ana@lab.example", Format.SLACK, False),
        ("https://lab.example", Format.EMAIL, False),
        ("https://ghe.lab.example/api/v3/repos/a/b/dispatches", Format.GITHUB, True),
        ("https://api.github.com/repos/a/b", Format.GITHUB, False),
        ("https://chat.lab.example/hooks/1", Format.SLACK, True),
    ],
)
def test_a_form_that_can_never_be_read_there_is_refused(
    url: str, format: Format, fits: bool
) -> None:
    if fits:
        check_format(url, format)
        return
    with pytest.raises(Invalid):
        check_format(url, format)
