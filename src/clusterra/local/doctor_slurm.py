"""What somebody else's slurmrestd lacks for Clusterra to stand in front of it.

Each question builds on the answers before it, so the list ends at the first
that cannot be asked. Nothing is changed over there.
"""

import getpass
import http.client
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from clusterra.adapters.slurmrest.tokens import Tokens
from clusterra.core.errors import Invalid
from clusterra.local.doctor import Finding

VERSIONS = tuple(f"v0.0.{number}" for number in (45, 44, 43, 42))
_UNKNOWN_USER = 6010

_START_RESTD = (
    "SLURM_JWT=daemon slurmrestd -a rest_auth/jwt -s openapi/slurmctld,openapi/slurmdbd "
    "0.0.0.0:6820   (as a user that is neither root nor SlurmUser)"
)
_AUTH_LINES = (
    "In slurm.conf and slurmdbd.conf on the controller, then restart slurmctld and slurmdbd:\n"
    "  AuthAltTypes=auth/jwt\n"
    "  AuthAltParameters=jwt_key=/var/spool/slurm/statesave/jwt_hs256.key\n"
    "And give --jwt-key a copy of exactly that file."
)


class _Now:
    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    status: int
    body: Any

    @property
    def errors(self) -> list[dict[str, Any]]:
        return list(self.body.get("errors") or ()) if isinstance(self.body, dict) else []

    def says(self, number: int) -> bool:
        return any(each.get("error_number") == number for each in self.errors)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Restd:
    url: str
    token: str = ""
    user: str = ""

    def get(self, path: str) -> _Answer:
        return self.ask("GET", path)

    def ask(self, method: str, path: str, content: object = None) -> _Answer:
        parts = urlsplit(self.url)
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        connection = kind(parts.hostname or "", parts.port or 6820, timeout=10)
        headers = {
            "X-SLURM-USER-NAME": self.user,
            "X-SLURM-USER-TOKEN": self.token,
            "Content-Type": "application/json",
        }
        sent = None if content is None else json.dumps(content)
        try:
            connection.request(method, path, sent, headers if self.token else {})
            response = connection.getresponse()
            raw = response.read()
        finally:
            connection.close()
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        return _Answer(status=response.status, body=body)


def that_slurm(url: str, *, jwt_key: Path | None, user: str) -> list[Finding]:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Invalid(f"{url!r} is not an address.", hint="Write it as http://head:6820.")
    restd = _Restd(url=url)
    findings = [_reachable(restd)]
    if not findings[0].ok:
        return findings
    key = _key(jwt_key)
    if isinstance(key, Finding):
        return [*findings, key]
    user = user or getpass.getuser()
    restd = _Restd(url=url, token=Tokens(key, _Now()).of(user), user=user)
    version = _version(restd)
    if isinstance(version, Finding):
        return [*findings, version]
    answer = restd.get(f"/slurm/{version}/diag/")
    findings += [
        _accepted(answer),
        Finding(what="API version", ok=True, found=f"{version} is spoken by both"),
    ]
    if answer.status == 200:
        findings += [_known(restd, version), _accounting(restd, version)]
    return findings


def _reachable(restd: _Restd) -> Finding:
    try:
        answer = restd.get("/openapi/v3")
    except (OSError, http.client.HTTPException) as error:
        return Finding(
            what="slurmrestd",
            ok=False,
            found=f"{restd.url} does not answer: {error}",
            fix=_START_RESTD,
        )
    return Finding(what="slurmrestd", ok=True, found=f"{restd.url} answers ({answer.status})")


def _key(file: Path | None) -> bytes | Finding:
    copy = "scp controller:/var/spool/slurm/statesave/jwt_hs256.key .   (where jwt_key= points)"
    if file is None:
        return Finding(
            what="JWT key",
            ok=False,
            found="none given, so nothing more can be asked",
            fix=f"{copy}\nclusterra doctor --slurm URL --jwt-key jwt_hs256.key",
        )
    try:
        key = file.read_bytes()
    except OSError as error:
        return Finding(
            what="JWT key", ok=False, found=f"{file} cannot be read: {error.strerror}", fix=copy
        )
    if not key:
        return Finding(what="JWT key", ok=False, found=f"{file} is empty", fix=copy)
    return key


def _version(restd: _Restd) -> str | Finding:
    """Return the newest version both sides speak: one that is not offered answers 404."""
    for version in VERSIONS:
        if restd.get(f"/slurm/{version}/ping/").status != 404:
            return version
    return Finding(
        what="API version",
        ok=False,
        found=f"none of {VERSIONS[-1]} to {VERSIONS[0]} is offered",
        fix="Slurm 24.11 or later is needed, and slurmrestd with: -s openapi/slurmctld",
    )


def _accepted(answer: _Answer) -> Finding:
    if answer.status == 200:
        return Finding(what="JWT auth", ok=True, found="the key is accepted")
    if answer.status == 401:
        return Finding(
            what="JWT auth",
            ok=False,
            found="slurmrestd does not take tokens (401)",
            fix=f"Start it with rest_auth/jwt: {_START_RESTD}",
        )
    if answer.status == 511:
        return Finding(
            what="JWT auth",
            ok=False,
            found="slurmctld refuses the token (511): another key, or JWT is not switched on",
            fix=_AUTH_LINES,
        )
    said = "; ".join(str(each.get("error") or each.get("description")) for each in answer.errors)
    return Finding(
        what="JWT auth",
        ok=False,
        found=f"{answer.status}: {said or 'no reason given'}",
        fix="See slurmrestd's and slurmctld's logs for the same moment.",
    )


def _known(restd: _Restd, version: str) -> Finding:
    """Ask for a job in a partition that cannot be there: refused for one reason or for the other.

    Reading is allowed to anybody with a token, so only this tells an unknown user.
    """
    job = {
        "partition": "clusterra-doctor",
        "environment": ["A=B"],
        "current_working_directory": "/",
    }
    body = {"script": "#!/bin/sh\n", "job": job}
    answer = restd.ask("POST", f"/slurm/{version}/job/submit", body)
    if not answer.says(_UNKNOWN_USER):
        return Finding(what="user", ok=True, found=f"{restd.user} may ask")
    return Finding(
        what="user",
        ok=False,
        found=f"{restd.user} is not a Linux user of the slurmctld host",
        fix=f"There: sudo useradd --create-home {restd.user}\nOr ask as another: --user NAME",
    )


def _accounting(restd: _Restd, version: str) -> Finding:
    answer = restd.get(f"/slurmdb/{version}/clusters/")
    names = [each.get("name", "") for each in (answer.body or {}).get("clusters", ())]
    if answer.status == 200 and not answer.errors and names:
        return Finding(what="accounting", ok=True, found=f"answers for {', '.join(names)}")
    if answer.status == 404:
        return Finding(
            what="accounting",
            ok=False,
            found="slurmrestd does not offer it",
            fix=f"Start it with openapi/slurmdbd: {_START_RESTD}",
        )
    return Finding(
        what="accounting",
        ok=False,
        found=f"slurmdbd does not answer ({answer.status}); history would be what Clusterra saw",
        fix="In slurm.conf: AccountingStorageType=accounting_storage/slurmdbd\n"
        "And on its host: systemctl enable --now slurmdbd",
    )
