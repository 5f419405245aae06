"""Asking AWS what machines cost: what is asked, who is believed, and what is said when it fails."""

import asyncio
import json
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clusterra.adapters.aws_prices import AwsPrices, Credentials, Instance, Lender, credentials
from clusterra.adapters.aws_prices.replies import products, spot_history
from clusterra.adapters.aws_prices.signature import signed
from clusterra.adapters.clock import SystemClock
from clusterra.core.errors import ClusterraError, Refused, Unreachable
from clusterra.core.scaling.shapes import Price
from tests.adapters.aws_standin import KEY_ID, NAMESPACE, SECRET, TOKEN, AwsStandIn, error, product

HERE = "us-east-1"
C7G = "c7g.xlarge"
KEYS = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}


async def ask(
    environ: Mapping[str, str], region: str = HERE, *types: str, patience: float = 5
) -> Mapping[str, Price]:
    prices = AwsPrices(environ, SystemClock(), patience=patience)
    try:
        return await prices.prices(region, types or [C7G])
    finally:
        await prices.close()


async def refused(environ: Mapping[str, str], region: str = HERE) -> ClusterraError:
    with pytest.raises(ClusterraError) as caught:
        await ask(environ, region, patience=0.5)
    error = caught.value
    assert error.hint
    for secret in (SECRET, TOKEN):
        assert secret not in error.detail + error.hint
    return error


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


@pytest.mark.enable_socket
def test_many_types_are_asked_for_in_parts_and_every_page_is_read() -> None:
    types = [f"u7in-{n}tb.224xlarge" for n in range(120)]

    async def story() -> None:
        aws = AwsStandIn(page=20)
        for n, each in enumerate(types):
            aws.on_demand[HERE, each] = f"{n + 1}.0000000000"
            for zone in ("a", "b"):
                aws.spot.append((HERE, each, HERE + zone, "2026-11-16T09:00:00.000Z", f"0.{n + 1}"))
        async with aws.open():
            found = await ask(aws.environ, HERE, *types, *types)
        assert len(found) == 120
        assert found[types[119]] == Price(on_demand=120_000_000, spot=120_000)
        # 50, 50 and 20 types: 3, 3 and 1 pages of products, and twice as many spot prices.
        assert [service for service, _ in aws.asked].count("pricing") == 7
        assert [service for service, _ in aws.asked].count("ec2") == 12

    asyncio.run(story())


@pytest.mark.enable_socket
def test_spot_is_the_cheapest_zone_by_the_newest_price_of_each() -> None:
    async def story() -> None:
        aws = AwsStandIn(
            spot=[
                (HERE, C7G, "us-east-1a", "2026-11-16T09:00:00.000Z", "0.071000"),
                (HERE, C7G, "us-east-1a", "2026-11-15T23:00:00.000Z", "0.010000"),
                (HERE, C7G, "us-east-1b", "2026-11-14T00:00:00.000Z", "0.065900"),
                (HERE, C7G, "us-east-1c", "2026-11-16T10:00:00.000Z", "0.090000"),
            ]
        )
        async with aws.open():
            assert await ask(aws.environ) == {C7G: Price(on_demand=None, spot=65_900)}

    asyncio.run(story())


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    "region",
    ["us-west-2", "eu-west-1", "ap-southeast-2", "sa-east-1", "mx-central-1", "af-south-1"],
)
def test_the_price_list_is_asked_in_one_of_its_three_regions_about_any(region: str) -> None:
    async def story() -> None:
        aws = AwsStandIn(on_demand={(region, C7G): "0.2", ("us-east-2", C7G): "0.1"})
        async with aws.open():
            assert await ask(aws.environ, region) == {C7G: Price(on_demand=200_000)}

    asyncio.run(story())


@pytest.mark.parametrize(
    "region", ["", "moon", "cn-north-1", "us-gov-west-1", "us-east-1.evil.example/", "us-east-1\n"]
)
def test_a_region_without_a_price_list_is_refused_before_anybody_is_asked(region: str) -> None:
    error = asyncio.run(refused(KEYS, region))

    assert isinstance(error, Refused)
    assert error.code == "unknown-region"


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("0.1450000000", 145_000),
        ("98.32", 98_320_000),
        ("0.0000010000", 1),
        ("0.1234567890", 123_457),
        ("0.0000000000", None),
        ("-1", None),
        ("", None),
        ("NaN", None),
        ("Infinity", None),
        ("1e999", None),
        ("free", None),
    ],
)
def test_amounts_are_whole_millionths_and_nothing_is_free(text: str, micros: int | None) -> None:
    listed = products(json.dumps({"PriceList": [product({"instanceType": C7G}, text)]}).encode())
    history = spot_history(
        f'<DescribeSpotPriceHistoryResponse xmlns="{NAMESPACE}"><spotPriceHistorySet><item>'
        f"<instanceType>{C7G}</instanceType><spotPrice>{text}</spotPrice></item>"
        "</spotPriceHistorySet></DescribeSpotPriceHistoryResponse>".encode()
    )

    for page in (listed, history):
        assert page is not None
        assert [each.usd_per_hour for each in page.offers] == ([] if micros is None else [micros])


def test_a_product_that_is_not_understood_is_left_out_and_the_others_count() -> None:
    good = product({"instanceType": C7G}, "0.145")
    odd = ["", "{}", "[]", good.replace("Hrs", "Quantity"), good.replace("USD", "CNY"), good[:-9]]

    page = products(json.dumps({"PriceList": [*odd, good, *odd], "NextToken": None}).encode())

    assert page is not None
    assert [(each.type, each.usd_per_hour) for each in page.offers] == [(C7G, 145_000)]


@pytest.mark.enable_socket
@pytest.mark.parametrize("service", ["pricing", "ec2"])
@pytest.mark.parametrize(
    ("status", "code", "kind", "says"),
    [
        (400, "ExpiredTokenException", Refused, "credentials ending in MPLE have expired."),
        (400, "RequestExpired", Refused, "credentials ending in MPLE have expired."),
        (400, "AccessDeniedException", Refused, "ending in MPLE are not allowed {permission}."),
        (403, "UnauthorizedOperation", Refused, "ending in MPLE are not allowed {permission}."),
        (400, "UnrecognizedClientException", Refused, "does not accept the credentials ending in"),
        (401, "AuthFailure", Refused, "does not accept the credentials ending in MPLE: Because."),
        (400, "InvalidParameterException", Refused, "AWS refuses {permission}: Because."),
        (400, "ThrottlingException", Unreachable, "does not answer {permission} now: Because."),
        (503, "RequestLimitExceeded", Unreachable, "does not answer {permission} now: Because."),
    ],
)
def test_each_refusal_is_told_in_words_with_the_next_step(
    service: str, status: int, code: str, kind: type[ClusterraError], says: str
) -> None:
    permission = "pricing:GetProducts" if service == "pricing" else "ec2:DescribeSpotPriceHistory"

    async def story() -> None:
        aws = AwsStandIn(scripted={service: (status, error(service, code, "Because.\nAnd more."))})
        async with aws.open():
            caught = await refused(aws.environ)
        assert type(caught) is kind
        assert says.format(permission=permission) in caught.detail
        if "not allowed" in says:
            assert permission in caught.hint

    asyncio.run(story())


@pytest.mark.enable_socket
@pytest.mark.parametrize("service", ["pricing", "ec2"])
@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (200, "<html>Please sign in to the guest network</html>", "what answers there is not AWS"),
        (200, "", "what answers there is not AWS"),
        (200, '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "what answers there is not AWS"),
        (500, "Oh dear", "it answers 500"),
        (302, "", "it answers 302"),
        (0, "", "it does not answer in time"),
    ],
)
def test_what_is_not_an_answer_is_not_taken_for_one(
    service: str, status: int, body: str, says: str
) -> None:
    async def story() -> None:
        aws = AwsStandIn(on_demand={(HERE, C7G): "0.145"}, scripted={service: (status, body)})
        async with aws.open():
            assert says in (await refused(aws.environ)).detail

    asyncio.run(story())


@pytest.mark.enable_socket
def test_an_answer_without_an_end_is_not_waited_for() -> None:
    async def story() -> None:
        page = json.dumps({"PriceList": [], "NextToken": "again"})
        async with AwsStandIn(scripted={"pricing": (200, page)}).open() as aws:
            error = await refused(aws.environ)
        assert isinstance(error, Unreachable)
        assert "after 50 pages it has still more" in error.detail

    asyncio.run(story())


@pytest.mark.enable_socket
def test_nobody_there_is_unreachable_and_the_address_is_named() -> None:
    with socket.socket() as held:  # bound and not listening: whoever connects is turned away
        held.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{held.getsockname()[1]}"

        error = asyncio.run(refused({**KEYS, "AWS_ENDPOINT_URL": f"http://{place}"}))

    assert isinstance(error, Unreachable)
    assert error.detail == f"AWS cannot be asked for prices at {place}: nobody listens there."


@pytest.mark.enable_socket
def test_each_service_can_have_an_address_of_its_own() -> None:
    async def story() -> None:
        elsewhere = AwsStandIn(spot=[(HERE, C7G, "us-east-1a", "2026-11-16T09:00:00Z", "0.05")])
        async with AwsStandIn(on_demand={(HERE, C7G): "0.145"}).open() as aws, elsewhere.open():
            environ = {**aws.environ, "AWS_ENDPOINT_URL_EC2": elsewhere.url + "/"}
            assert await ask(environ) == {C7G: Price(on_demand=145_000, spot=50_000)}

    asyncio.run(story())
