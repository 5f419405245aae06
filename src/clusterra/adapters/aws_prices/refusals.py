"""Say why AWS gave no prices, and what to do about it."""

import re

import msgspec

from clusterra.adapters.aws.credentials import Credentials
from clusterra.adapters.aws.document import xml
from clusterra.core.errors import ClusterraError, Refused, Unreachable

_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
_NOT_NOW = re.compile("Throttl|LimitExceeded|Unavailable|Internal")
_NOT_YOU = re.compile("Signature|Client|AuthFailure")
_LONGEST = 200
"""Of AWS's own sentence: about a signature it has a page to say."""


class _Failure(msgspec.Struct):
    type: str = msgspec.field(name="__type", default="")
    message: str = ""
    capital: str = msgspec.field(name="Message", default="")
    """The same; some services write it so."""


def refusal(permission: str, by: Credentials, status: int, body: bytes) -> ClusterraError:
    """Return what to raise. `permission` is what was asked for, as `pricing:GetProducts`."""
    code, message = _failure(body)
    said = (message.partition("\n")[0][:_LONGEST] or code or f"it answers {status}").rstrip(".")
    if status >= 500 or status == 429 or _NOT_NOW.search(code):
        return Unreachable(
            f"AWS does not answer {permission} now: {said}.",
            hint="Try again in some minutes.",
            code="cloud-unreachable",
        )
    if code in _EXPIRED:
        return Refused(
            f"The AWS credentials {by.name} have expired.",
            hint="Put new ones where these are (`aws configure export-credentials` prints them), and"
            " start the server again if that is its environment. If these are new, this machine's"
            " clock is wrong.",
            code="cloud-credentials-expired",
        )
    if code in _DENIED:
        return Refused(
            f"The AWS credentials {by.name} are not allowed {permission}.",
            hint="Have whoever manages IAM allow them pricing:GetProducts and"
            " ec2:DescribeSpotPriceHistory, both on the resource *.",
            code="cloud-forbidden",
        )
    if status in {401, 403} or _NOT_YOU.search(code):
        return Refused(
            f"AWS does not accept the credentials {by.name}: {said}.",
            hint="Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile, and this"
            " machine's clock: a signature is good for some minutes only.",
            code="cloud-credentials",
        )
    return Refused(
        f"AWS refuses {permission}: {said}.",
        hint="Check the region in the settings, and that the account may use it.",
        code="cloud-refused",
    )


def _failure(body: bytes) -> tuple[str, str]:
    """Return code and message of an error: XML from EC2, JSON from the price list."""
    document = xml(body)
    if document is not None:
        return document.findtext(".//{*}Code", ""), document.findtext(".//{*}Message", "")
    try:
        failure = msgspec.json.decode(body, type=_Failure)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "", ""
    return failure.type.rpartition("#")[2], failure.message or failure.capital
