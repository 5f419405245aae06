"""Who asks AWS: where credentials are found, how they sign, and that they stay secret."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clusterra.adapters.aws.credentials import Credentials, Instance, Lender, credentials
from clusterra.adapters.aws.signature import signed
from clusterra.adapters.aws_prices import AwsPrices
from clusterra.adapters.clock import SystemClock
from clusterra.core.errors import Refused, Unreachable
from clusterra.core.scaling.shapes import Price
from tests.adapters.aws_standin import (
    C7G,
    HERE,
    KEY_ID,
    KEYS,
    SECRET,
    TOKEN,
    AwsStandIn,
    ask,
    refused,
)

SESSION = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSP"
    "fIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT"
    "7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlz"
    "m8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)


@pytest.mark.parametrize(
    ("method", "headers", "body", "token", "names", "signature"),
    [
        pytest.param(
            *("GET", {}, b"", "", "host;x-amz-date"),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            id="get-vanilla",
        ),
        pytest.param(
            *("POST", {}, b"", "", "host;x-amz-date"),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            id="post-vanilla",
        ),
        pytest.param(
            *("POST", {"Content-Type": "application/x-www-form-urlencoded"}, b"Param1=value1", ""),
            "content-type;host;x-amz-date",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            id="post-x-www-form-urlencoded",
        ),
        pytest.param(
            *("POST", {}, b"", SESSION, "host;x-amz-date;x-amz-security-token"),
            "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
            id="post-sts-header-before",
        ),
    ],
)
def test_signatures_are_those_of_the_suite_that_aws_publishes(
    method: str, headers: Mapping[str, str], body: bytes, token: str, names: str, signature: str
) -> None:
    sent = signed(
        method,
        "https://example.amazonaws.com/",
        headers,
        body,
        by=Credentials(
            key_id="AKIDEXAMPLE", secret="wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token=token
        ),
        region=HERE,
        service="service",
        at=datetime(2015, 8, 30, 12, 36, tzinfo=UTC),
    )

    assert sent["authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,"
        f" SignedHeaders={names}, Signature={signature}"
    )


def test_the_environment_counts_before_the_file_and_the_file_before_what_is_lent(
    tmp_path: Path,
) -> None:
    file = tmp_path / ".aws/credentials"
    file.parent.mkdir()
    file.write_text(
        "[default]\naws_access_key_id = AKIDEFAULT\naws_secret_access_key = a%b\n"
        "[lab]\naws_access_key_id=AKIALAB\naws_secret_access_key=c\naws_session_token=t==\n"
        "[empty]\nregion = eu-west-1\n"
    )
    home = {"HOME": str(tmp_path)}
    lent = {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/1"}

    assert credentials({**home, **lent, **KEYS}) == Credentials(key_id=KEY_ID, secret=SECRET)
    assert credentials({**home, **lent}) == Credentials(key_id="AKIDEFAULT", secret="a%b")
    lab = Credentials(key_id="AKIALAB", secret="c", token="t==")
    assert credentials({**home, "AWS_PROFILE": "lab"}) == lab
    named = {"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_PROFILE": "lab"}
    assert credentials(named) == lab
    empty = credentials({**home, **lent, "AWS_PROFILE": "empty"})
    assert empty == Lender(url="http://169.254.170.2/v2/credentials/1")
    machine = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1/"}
    assert credentials({**machine, **lent}) == Lender(url="http://169.254.170.2/v2/credentials/1")
    assert credentials(machine) == Instance(url="http://127.0.0.1:1")


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"HOME": "/nonexistent"},
        {"HOME": "/nonexistent", "AWS_PROFILE": "lab"},
        {"AWS_ACCESS_KEY_ID": "AKIA"},
        {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": ""},
    ],
)
def test_no_credentials_is_an_answer(environ: Mapping[str, str]) -> None:
    environ = {**environ, "AWS_EC2_METADATA_DISABLED": "true"}  # should this run on EC2
    assert credentials(environ) is None

    error = asyncio.run(refused(environ))

    assert isinstance(error, Refused)
    assert error.detail == "There are no AWS credentials here to ask for prices with."


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("aws_access_key_id = AKIA\n")

    with pytest.raises(Refused, match="credentials with AWS credentials cannot be read: it has a"):
        credentials({"AWS_SHARED_CREDENTIALS_FILE": str(file)})
    with pytest.raises(Refused, match="cannot be read: Is a directory"):
        credentials({"AWS_SHARED_CREDENTIALS_FILE": str(tmp_path)})


@pytest.mark.parametrize(
    "url", ["http://lab.example/lend", "http://10.0.0.1/", "ftp://x", "http://[", "http://a@b"]
)
def test_nobody_far_away_is_asked_for_credentials_in_the_clear(url: str) -> None:
    with pytest.raises(Refused, match="anybody on the way could read them"):
        credentials({"AWS_CONTAINER_CREDENTIALS_FULL_URI": url})


def test_a_secret_is_not_seen_in_a_log_by_accident() -> None:
    found = credentials({**KEYS, "AWS_SESSION_TOKEN": TOKEN})

    assert SECRET not in repr(found)
    assert TOKEN not in repr(found)


@pytest.mark.enable_socket
def test_a_container_is_lent_credentials_and_asks_with_them(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("let me\n")

    async def story() -> None:
        async with AwsStandIn(on_demand={(HERE, C7G): "0.145"}).open() as aws:
            lent = {
                "AWS_ENDPOINT_URL": aws.url,
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{aws.url}/lent",
            }
            file = {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token)}
            assert await ask({**lent, **file}) == {C7G: Price(on_demand=145_000)}
            text = {"AWS_CONTAINER_AUTHORIZATION_TOKEN": "let me"}
            assert await ask({**lent, **text}) == {C7G: Price(on_demand=145_000)}

            error = await refused(lent)
            assert isinstance(error, Unreachable)
            assert "it lends no credentials, but answers 401" in error.detail

    asyncio.run(story())


@pytest.mark.enable_socket
def test_a_machine_of_ec2_lends_what_its_role_is_allowed() -> None:
    async def story() -> None:
        async with AwsStandIn(on_demand={(HERE, C7G): "0.145"}).open() as aws:
            machine = {
                "AWS_ENDPOINT_URL": aws.url,
                "AWS_EC2_METADATA_SERVICE_ENDPOINT": aws.url,
            }
            assert await ask(machine) == {C7G: Price(on_demand=145_000)}

            aws.machine_role = ""
            error = await refused(machine)
            assert isinstance(error, Refused)
            assert "this machine of EC2 has no role" in error.detail

    asyncio.run(story())


@pytest.mark.enable_socket
def test_new_credentials_in_the_file_count_at_once(tmp_path: Path) -> None:
    file = tmp_path / "credentials"

    def write(token: str) -> None:
        file.write_text(
            f"[default]\naws_access_key_id={KEY_ID}\naws_secret_access_key={SECRET}\n"
            f"aws_session_token={token}\n"
        )

    async def story() -> None:
        async with AwsStandIn(on_demand={(HERE, C7G): "0.145"}).open() as aws:
            environ = {"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_ENDPOINT_URL": aws.url}
            prices = AwsPrices(environ, SystemClock())
            write("an-old-one")
            with pytest.raises(Refused):
                await prices.prices(HERE, [C7G])
            write(TOKEN)
            assert C7G in await prices.prices(HERE, [C7G])
            await prices.close()

    asyncio.run(story())
