"""Two services of AWS, as far as prices go: the price list, and EC2's history of spot prices.

It answers in AWS's shapes, filters as AWS does among products that are nearly the right one,
and believes nobody whose signature it cannot work out itself, from what arrived.
"""

import asyncio
import hashlib
import hmac
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

import pytest
from aiohttp import web

from clusterra.adapters.aws_prices import AwsPrices
from clusterra.adapters.clock import SystemClock
from clusterra.core.errors import ClusterraError
from clusterra.core.scaling.shapes import Price

HERE, C7G = "us-east-1", "c7g.xlarge"
KEY_ID, SECRET, TOKEN = "ASIAEXAMPLE", "se/cr+et%", "a-session=="
KEYS = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}
NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/"
LISTS = {"us-east-1", "eu-central-1", "ap-south-1"}

NEARLY = [
    {"operatingSystem": "Windows", "licenseModel": "No License required"},
    {"preInstalledSw": "SQL Web"},
    {"tenancy": "Dedicated"},
    {"capacitystatus": "UnusedCapacityReservation"},
    {"marketoption": "CapacityBlock"},
]
"""What else is on the list for a type and a region. Each costs far more here."""


@dataclass
class AwsStandIn:
    on_demand: dict[tuple[str, str], str] = field(default_factory=dict)
    """Dollars per hour, as text, by region and type."""

    spot: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    """Region, type, zone, since when, dollars per hour."""

    page: int = 100
    scripted: dict[str, tuple[int, str]] = field(default_factory=dict)
    """What is answered instead, by service; status 0 never answers."""

    machine_role: str = "workers"
    """Of the machine of EC2 whose metadata it also tells; empty is none."""

    asked: list[tuple[str, Any]] = field(default_factory=list)
    """Service and question, as they came."""

    url: str = ""
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def open(self) -> AsyncIterator["AwsStandIn"]:
        app = web.Application()
        app.router.add_post("/", self.answer)
        app.router.add_get("/lent", self.lend)
        app.router.add_put("/latest/api/token", self.ticket)
        app.router.add_get("/latest/meta-data/iam/security-credentials/{role:.*}", self.role)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            self._over.set()
            await runner.cleanup()

    @property
    def environ(self) -> dict[str, str]:
        return {**KEYS, "AWS_SESSION_TOKEN": TOKEN, "AWS_ENDPOINT_URL": self.url}

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        target = request.headers.get("X-Amz-Target")
        service = "pricing" if target else "ec2"
        scope = check_signature(request.method, request.raw_path, request.headers, body)
        if scope is None:
            wrong = "The request signature we calculated does not match.\nThe Canonical String ..."
            return failed(service, 403, "InvalidSignatureException", wrong)
        assert scope[1] == service
        if service in self.scripted:
            status, text = self.scripted[service]
            if status == 0:
                await self._over.wait()
            return web.Response(status=status, text=text)
        if target:
            assert target == "AWSPriceListService.GetProducts"
            assert request.content_type == "application/x-amz-json-1.1"
            assert scope[0] in LISTS
            return self.products(json.loads(body))
        return self.history(scope[0], dict(parse_qsl(body.decode(), strict_parsing=True)))

    def products(self, question: Mapping[str, Any]) -> web.Response:
        self.asked.append(("pricing", question))
        assert question["ServiceCode"] == "AmazonEC2"
        if any(not 1 <= len(each["Value"]) <= 1024 for each in question["Filters"]):
            return failed("pricing", 400, "InvalidParameterException", "Input is too long")
        found = [
            product(attributes, amount)
            for attributes, amount in self.listed()
            if all(matches(attributes, each) for each in question["Filters"])
        ]
        start = int(question.get("NextToken", "0"))
        end = start + min(self.page, question["MaxResults"])
        more = {"NextToken": str(end)} if end < len(found) else {}
        return web.json_response(
            {"FormatVersion": "aws_v1", "PriceList": found[start:end], **more},
            content_type="application/x-amz-json-1.1",
        )

    def listed(self) -> list[tuple[dict[str, str], str]]:
        usual = {
            "operatingSystem": "Linux",
            "preInstalledSw": "NA",
            "tenancy": "Shared",
            "capacitystatus": "Used",
            "marketoption": "OnDemand",
        }
        return [
            ({"instanceType": type, "regionCode": region, **usual, **other}, price)
            for (region, type), amount in self.on_demand.items()
            for other, price in [({}, amount), *((each, "99.9900000000") for each in NEARLY)]
        ]

    def history(self, region: str, question: Mapping[str, str]) -> web.Response:
        self.asked.append(("ec2", question))
        assert question["Action"] == "DescribeSpotPriceHistory"
        assert question["Version"] == "2016-11-15"
        assert question["ProductDescription.1"] == "Linux/UNIX"
        assert question["Filter.1.Name"] == "instance-type"
        wanted = {value for name, value in question.items() if name.startswith("Filter.1.Value.")}
        found = [each for each in self.spot if each[0] == region and each[1] in wanted]
        start = int(question.get("NextToken", "0"))
        end = start + self.page
        items = "".join(
            f"<item><instanceType>{type}</instanceType>"
            f"<productDescription>Linux/UNIX</productDescription><spotPrice>{amount}</spotPrice>"
            f"<timestamp>{since}</timestamp><availabilityZone>{zone}</availabilityZone></item>"
            for _, type, zone, since, amount in found[start:end]
        )
        more = f"<nextToken>{end}</nextToken>" if end < len(found) else "<nextToken/>"
        return web.Response(
            text=f'<?xml version="1.0" encoding="UTF-8"?>\n<DescribeSpotPriceHistoryResponse '
            f'xmlns="{NAMESPACE}"><requestId>59dbff89</requestId><spotPriceHistorySet>{items}'
            f"</spotPriceHistorySet>{more}</DescribeSpotPriceHistoryResponse>",
            content_type="text/xml",
        )

    async def lend(self, request: web.Request) -> web.Response:
        """Lend a container the credentials."""
        if request.headers.get("Authorization") != "let me":
            return web.Response(status=401)
        return lent()

    async def ticket(self, request: web.Request) -> web.Response:
        """Begin to tell a machine's metadata, the second version's way."""
        lasts = int(request.headers["X-aws-ec2-metadata-token-ttl-seconds"])
        return web.Response(text="a-ticket", status=200 if 1 <= lasts <= 21600 else 400)

    async def role(self, request: web.Request) -> web.Response:
        if request.headers.get("X-aws-ec2-metadata-token") != "a-ticket":
            return web.Response(status=401)
        if not self.machine_role:
            return web.Response(status=404)
        name = request.match_info["role"]
        return lent() if name == self.machine_role else web.Response(text=self.machine_role)


def lent() -> web.Response:
    keys = {"AccessKeyId": KEY_ID, "SecretAccessKey": SECRET, "Token": TOKEN}
    return web.json_response({"Code": "Success", **keys, "Expiration": "2030-01-01T00:00:00Z"})


async def ask(
    environ: Mapping[str, str], region: str = HERE, *types: str, patience: float = 5
) -> Mapping[str, Price]:
    """Return what these types cost, or one."""
    prices = AwsPrices(environ, SystemClock(), patience=patience)
    try:
        return await prices.prices(region, types or [C7G])
    finally:
        await prices.close()


async def refused(environ: Mapping[str, str], region: str = HERE) -> ClusterraError:
    """Return why there is no answer; it says what to do, and no secret."""
    with pytest.raises(ClusterraError) as caught:
        await ask(environ, region, patience=0.5)
    why = caught.value
    assert why.hint
    for secret in (SECRET, TOKEN):
        assert secret not in why.detail + why.hint
    return why


def product(attributes: Mapping[str, str], amount: str) -> str:
    """Return one product as the price list spells it: JSON, as text."""
    sku = hashlib.sha1(json.dumps(attributes).encode()).hexdigest()[:16].upper()
    term = f"{sku}.JRTCKXETXF"
    dimension = {
        "unit": "Hrs",
        "endRange": "Inf",
        "description": f"${amount} per On Demand Linux {attributes['instanceType']} Instance Hour",
        "appliesTo": [],
        "rateCode": f"{term}.6YS6EN2CT7",
        "beginRange": "0",
        "pricePerUnit": {"USD": amount},
    }
    reserved = {"priceDimensions": {"x": {"unit": "Quantity", "pricePerUnit": {"USD": "311"}}}}
    return json.dumps(
        {
            "product": {
                "productFamily": "Compute Instance",
                "attributes": {"servicecode": "AmazonEC2", "vcpu": "4", **attributes},
                "sku": sku,
            },
            "serviceCode": "AmazonEC2",
            "terms": {
                "OnDemand": {
                    term: {
                        "priceDimensions": {f"{term}.6YS6EN2CT7": dimension},
                        "sku": sku,
                        "effectiveDate": "2026-11-01T00:00:00Z",
                        "offerTermCode": "JRTCKXETXF",
                        "termAttributes": {},
                    }
                },
                "Reserved": {f"{sku}.4NA7Y494T4": reserved},
            },
            "version": "20261110211254",
            "publicationDate": "2026-11-10T21:12:54Z",
        }
    )


def matches(attributes: Mapping[str, str], filter: Mapping[str, str]) -> bool:
    there, wanted = attributes[filter["Field"]], filter["Value"]
    return there == wanted if filter["Type"] == "TERM_MATCH" else there in wanted.split(",")


def failed(service: str, status: int, code: str, message: str) -> web.Response:
    return web.Response(status=status, text=error(service, code, message))


def error(service: str, code: str, message: str) -> str:
    """Return an error as each of the two spells it."""
    if service == "pricing":
        return json.dumps({"__type": f"com.amazonaws.pricing#{code}", "Message": message})
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error><Code>{code}</Code>'
        f"<Message>{escape(message)}</Message></Error></Errors><RequestID>5d</RequestID></Response>"
    )


def check_signature(
    method: str, path: str, headers: Mapping[str, str], body: bytes
) -> tuple[str, str] | None:
    """Return the region and the service it was signed for; None if it is not signed by us."""
    given = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=(\w+)/(\d{8})/([\w-]+)/([\w-]+)/aws4_request, "
        r"SignedHeaders=([\w;-]+), Signature=([0-9a-f]{64})",
        headers.get("Authorization", ""),
    )
    if given is None:
        return None
    key_id, day, region, service, names, signature = given.groups()
    moment = headers["X-Amz-Date"]
    at = datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    must = {"host", "x-amz-date", "x-amz-security-token", "content-type"}
    must |= {name.lower() for name in headers if name.lower().startswith("x-amz-")}
    canonical = f"{method}\n{path}\n\n"
    for name in names.split(";"):
        canonical += f"{name}:{headers[name].strip()}\n"
    canonical += f"\n{names}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{day}/{region}/{service}/aws4_request"
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashed}"

    def mac(key: bytes, part: str) -> bytes:
        return hmac.new(key, part.encode(), hashlib.sha256).digest()

    key = mac(mac(mac(mac(b"AWS4" + SECRET.encode(), day), region), service), "aws4_request")
    good = (
        mac(key, text).hex() == signature
        and key_id == KEY_ID
        and headers.get("X-Amz-Security-Token") == TOKEN
        and must <= set(names.split(";"))
        and moment.startswith(day)
        and abs(datetime.now(UTC) - at) < timedelta(minutes=5)
    )
    return (region, service) if good else None
