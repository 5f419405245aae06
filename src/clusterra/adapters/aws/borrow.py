"""Borrow credentials: from whoever lends them to this container, or from this machine of EC2."""

import msgspec

from clusterra.adapters.aws.credentials import Credentials, Instance, Lender
from clusterra.adapters.aws.line import Line, unreachable
from clusterra.core.errors import Refused

_ROLES = "/latest/meta-data/iam/security-credentials/"


class _Loan(msgspec.Struct, rename="pascal"):
    access_key_id: str
    secret_access_key: str
    token: str = ""


async def borrow(of: Lender | Instance, line: Line, *, hint: str) -> Credentials:
    """`hint` says what to do where there is nothing to lend."""
    if isinstance(of, Instance):
        return await _of_instance(of.url, line, hint)
    headers = {"Authorization": of.authorization} if of.authorization else {}
    return await _lent(line, of.url, headers)


async def _of_instance(url: str, line: Line, hint: str) -> Credentials:
    """Ask as the second version of the metadata service wants it, which every machine has."""
    lasts = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    status, ticket = await line.ask("PUT", f"{url}/latest/api/token", lasts)
    if status != 200:
        raise unreachable(url, f"the machine's metadata answer {status}")
    headers = {"X-aws-ec2-metadata-token": ticket.decode("ascii", "replace")}
    status, roles = await line.ask("GET", url + _ROLES, headers)
    role = roles.decode("ascii", "replace").partition("\n")[0].strip()
    if status == 404 or (status == 200 and not role):
        raise Refused(
            "There are no AWS credentials here, and this machine of EC2 has no role to lend some.",
            hint=hint,
            code="cloud-credentials",
        )
    return await _lent(line, url + _ROLES + role, headers)


async def _lent(line: Line, url: str, headers: dict[str, str]) -> Credentials:
    status, body = await line.ask("GET", url, headers)
    try:
        loan = msgspec.json.decode(body, type=_Loan) if status == 200 else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        loan = None
    if loan is None:
        raise unreachable(url, f"it lends no credentials, but answers {status}")
    return Credentials(key_id=loan.access_key_id, secret=loan.secret_access_key, token=loan.token)
