"""Put the two questions into AWS's words: what is it on demand, and what is it as spot?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlencode

import msgspec

_SOLD_AS = {
    "operatingSystem": "Linux",
    "preInstalledSw": "NA",
    "tenancy": "Shared",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}
"""What is bought when a machine is started without a word about it. A type and a region have
one product that is all of this, and a hundred otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    service: str
    action: str
    region: str
    """Of the service that is asked; the price list's is another than the machines'."""

    host: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def permission(self) -> str:
        """What IAM calls it."""
        return f"{self.service}:{self.action}"


def on_demand(region: str, types: Sequence[str], after: str) -> Question:
    """Ask the price list, after the page that named `after`."""
    filters = [
        {"Type": "TERM_MATCH", "Field": name, "Value": value}
        for name, value in {**_SOLD_AS, "regionCode": region}.items()
    ]
    filters.append({"Type": "ANY_OF", "Field": "instanceType", "Value": ",".join(types)})
    wanted = {"ServiceCode": "AmazonEC2", "Filters": filters, "MaxResults": 100}
    there = _list_near(region)
    return Question(
        service="pricing",
        action="GetProducts",
        region=there,
        host=f"api.pricing.{there}.amazonaws.com",
        headers={
            "Content-Type": "application/x-amz-json-1.1",
            "X-Amz-Target": "AWSPriceListService.GetProducts",
        },
        body=msgspec.json.encode({**wanted, "NextToken": after} if after else wanted),
    )


def spot(region: str, types: Sequence[str], now: datetime, after: str) -> Question:
    """Ask EC2 for the prices that count from `now` on: the newest of every zone.

    By filter, which leaves out a type that it does not know; the parameter for types refuses.
    """
    wanted = {
        "Action": "DescribeSpotPriceHistory",
        "Version": "2016-11-15",
        "ProductDescription.1": "Linux/UNIX",
        "StartTime": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Filter.1.Name": "instance-type",
        **{f"Filter.1.Value.{n}": each for n, each in enumerate(types, 1)},
    }
    return Question(
        service="ec2",
        action="DescribeSpotPriceHistory",
        region=region,
        host=f"ec2.{region}.amazonaws.com",
        headers={"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"},
        body=urlencode({**wanted, "NextToken": after} if after else wanted).encode(),
    )


def _list_near(region: str) -> str:
    """Return where the price list is asked: it is the same in three regions, and in no other."""
    if region.startswith("ap-"):
        return "ap-south-1"
    return "eu-central-1" if region.startswith(("eu-", "me-", "il-", "af-")) else "us-east-1"
