"""Ask AWS what machines cost.

On demand by the price list (`pricing:GetProducts`): Linux without licences, on shared
hardware. Spot by EC2 (`ec2:DescribeSpotPriceHistory`): the newest price of every zone, and of
those the cheapest, because it is not known yet where a machine will be bought. Where it was,
the edge says what it costs there.

Nothing is kept here: not the prices, and not the credentials, so that new ones in the file
count at once.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from clusterra.adapters.aws.borrow import borrow
from clusterra.adapters.aws.credentials import Credentials, credentials
from clusterra.adapters.aws.line import Line, unreachable
from clusterra.adapters.aws.signature import signed
from clusterra.adapters.aws_prices import questions, replies
from clusterra.adapters.aws_prices.questions import Question
from clusterra.adapters.aws_prices.refusals import refusal
from clusterra.adapters.aws_prices.replies import Offer, Page
from clusterra.core.errors import Refused
from clusterra.core.quote import shown
from clusterra.core.scaling.shapes import Price
from clusterra.ports import Clock

AT_ONCE = 50
"""Types per question. A filter takes 1,024 characters; the longest type has 19, and a comma."""

MOST_PAGES = 50
"""Of one answer. Fifty types have some hundred prices, which is a page or two."""

_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]{1,2}")
_TYPE = re.compile(r"[a-z0-9-]+\.[a-z0-9-]+")


class AwsPrices:
    """The PriceList port.

    `AWS_ENDPOINT_URL` has it ask somebody else than AWS, `AWS_ENDPOINT_URL_PRICING` and
    `AWS_ENDPOINT_URL_EC2` only for the one or the other: a stand-in, or a private endpoint.
    """

    def __init__(self, environ: Mapping[str, str], clock: Clock, *, patience: float = 20) -> None:
        """`patience`: seconds for one answer. Fifty types are two questions."""
        self._environ = environ
        self._clock = clock
        self._line = Line(patience=patience)

    async def prices(self, region: str, types: Collection[str]) -> Mapping[str, Price]:
        _check(region)
        by = await self._credentials()
        wanted = sorted(each for each in set(types) if _TYPE.fullmatch(each))
        found: dict[str, Price] = {}
        for start in range(0, len(wanted), AT_ONCE):
            some = wanted[start : start + AT_ONCE]
            by_list = partial(questions.on_demand, region, some)
            by_history = partial(questions.spot, region, some, self._clock.now())
            on_demand = dearest(await self._all(by, by_list, replies.products))
            spot = cheapest_zone(await self._all(by, by_history, replies.spot_history))
            for each in some:
                if each in on_demand or each in spot:
                    found[each] = Price(on_demand=on_demand.get(each), spot=spot.get(each))
        return found

    async def close(self) -> None:
        await self._line.close()

    async def _all(
        self,
        by: Credentials,
        asking: Callable[[str], Question],
        reading: Callable[[bytes], Page | None],
    ) -> Iterable[Offer]:
        """Return what is on all pages of an answer."""
        offers: list[Offer] = []
        after = ""
        for _ in range(MOST_PAGES):
            question = asking(after)
            url = self._address(question)
            page = reading(await self._ask(by, question, url))
            if page is None:
                raise unreachable(url, "what answers there is not AWS")
            offers += page.offers
            after = page.next
            if not after:
                return offers
        raise unreachable(url, f"after {MOST_PAGES} pages it has still more")

    async def _ask(self, by: Credentials, question: Question, url: str) -> bytes:
        headers = signed(
            "POST",
            url,
            question.headers,
            question.body,
            by=by,
            region=question.region,
            service=question.service,
            at=self._clock.now(),
        )
        status, body = await self._line.ask("POST", url, headers, question.body)
        if status != 200:
            raise refusal(question.permission, by, status, body)
        return body

    def _address(self, question: Question) -> str:
        for name in (f"AWS_ENDPOINT_URL_{question.service.upper()}", "AWS_ENDPOINT_URL"):
            if url := self._environ.get(name):
                return url.rstrip("/") + "/"
        return f"https://{question.host}/"

    async def _credentials(self) -> Credentials:
        found = credentials(self._environ)
        if isinstance(found, Credentials):
            return found
        if found is None:
            raise Refused(
                "There are no AWS credentials here to ask for prices with.",
                hint="Give the server AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
                ' and ~/.aws/credentials; or set prices.source to "table".',
                code="cloud-credentials",
            )
        return await borrow(
            found,
            self._line,
            hint="Give it a role that is allowed pricing:GetProducts and"
            ' ec2:DescribeSpotPriceHistory, or set prices.source to "table".',
        )


def dearest(offers: Iterable[Offer]) -> Mapping[str, int]:
    """Return what each type costs. One price is expected; of several, nobody is told too little."""
    found: dict[str, int] = {}
    for each in offers:
        found[each.type] = max(each.usd_per_hour, found.get(each.type, 0))
    return found


def cheapest_zone(offers: Iterable[Offer]) -> Mapping[str, int]:
    """Return what each type costs in its cheapest zone, by the newest price of every zone."""
    newest = {(each.type, each.zone): each for each in sorted(offers, key=lambda each: each.at)}
    found: dict[str, int] = {}
    for (type, _), each in newest.items():
        found[type] = min(each.usd_per_hour, found.get(type, each.usd_per_hour))
    return found


def _check(region: str) -> None:
    """Only the regions that the price list is for. It also keeps anything else out of an address."""
    if not _REGION.fullmatch(region) or region.startswith(("cn-", "us-gov-", "us-iso", "eusc-")):
        raise Refused(
            f"AWS has no price list in dollars for the region {shown(region)}.",
            hint="An admin can say what a CPU, a GiB and a GPU cost here.",
            code="unknown-region",
        )
