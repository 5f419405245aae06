"""Asking AWS what machines cost: what is asked, and what is said when there is no answer."""

import asyncio
import json
import socket

import pytest

from clusterra.adapters.aws_prices.replies import products, spot_history
from clusterra.core.errors import ClusterraError, Refused, Unreachable
from clusterra.core.scaling.shapes import Price
from tests.adapters.aws_standin import (
    C7G,
    HERE,
    KEYS,
    NAMESPACE,
    AwsStandIn,
    ask,
    error,
    product,
    refused,
)


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
