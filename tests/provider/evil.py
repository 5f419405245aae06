"""A provider that says whatever a test wants, rightly signed or not.

It does what a provider has to (discovery, one-time codes bound to a verifier, keys,
userinfo) until a test changes one thing. Nothing checks that it is a good provider: for that
there is the certified one, in `run`.
"""

import base64
import functools
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlsplit

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey

from clusterra.ports import Clock

CLIENT_ID = "clusterra"
CLIENT_SECRET = "a+secret/with%odd: characters="
ACCESS_TOKEN = "an-access-token"

Claims = dict[str, Any]


@functools.cache
def key(kid: str, kind: str = "RSA") -> Key:
    if kind == "EC":
        return ECKey.generate_key("P-256", {"kid": kid})
    if kind == "OKP":
        return OKPKey.generate_key("Ed25519", {"kid": kid})
    return RSAKey.generate_key(2048, {"kid": kid})


def half_hash(text: str) -> str:
    """Return what `at_hash` is for RS256."""
    digest = hashlib.sha256(text.encode()).digest()[:16]
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class Evil:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.issuer = ""
        self.discovery: dict[str, Any] = {}
        """What its discovery document says differently; None leaves it out."""
        self.claims: Claims = {}
        """What its ID token says differently; None leaves it out."""
        self.userinfo: Claims = {}
        self.client = ("client_secret_basic", CLIENT_ID, CLIENT_SECRET)
        """How the one application that it knows has to show who it is."""
        self.key = key("first")
        self.algorithm = "RS256"
        self.published: list[dict[str, Any]] = [dict(self.key.as_dict(private=False))]
        self.make: Callable[[Claims], str] = self.signed
        """How an ID token is made of its claims."""
        self.answers: dict[str, Callable[[], web.Response]] = {}
        """What it answers at a path instead of what it should."""
        self.asked: Counter[str] = Counter()
        self.cookies_carried: set[str] = set()
        self._codes: dict[str, tuple[str, str]] = {}

    def signed(self, claims: Claims) -> str:
        header = {"alg": self.algorithm, "kid": self.key.kid}
        return jwt.encode(header, claims, self.key, algorithms=[self.algorithm])

    def grant(self, url: str) -> str:
        """Let somebody sign in who was sent to `url`; return the code they come back with."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self._codes)}"
        self._codes[code] = (asked["code_challenge"], asked["nonce"])
        return code

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            [(_, port)] = runner.addresses
            # By name: an HTTP client with a cookie jar keeps none for a mere address.
            self.issuer = f"http://localhost:{port}"
            yield
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked[request.path] += 1
        self.cookies_carried.update(request.cookies)
        reply = await self._reply(request)
        reply.set_cookie("visitor", "number-1")
        return reply

    async def _reply(self, request: web.Request) -> web.Response:
        if request.path in self.answers:
            return self.answers[request.path]()
        if request.path == "/.well-known/openid-configuration":
            return web.json_response(self._described())
        if request.path == "/keys":
            return web.json_response({"keys": self.published})
        if request.path == "/userinfo":
            assert request.headers["Authorization"] == f"Bearer {ACCESS_TOKEN}"
            return web.json_response(self.userinfo)
        if request.path == "/token":
            return self._redeem(request, await request.post())
        raise web.HTTPNotFound

    def _described(self) -> dict[str, Any]:
        return _without_none(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize?tenant=lab",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
                **self.discovery,
            }
        )

    def _redeem(self, request: web.Request, form: Any) -> web.Response:
        challenge, nonce = self._codes.pop(form["code"], ("", ""))
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != challenge:
            return web.json_response({"error": "invalid_grant"}, status=400)
        if _client(request, form) != self.client:
            return web.json_response({"error": "invalid_client"}, status=401)
        now = int(self.clock.now().timestamp())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": "248289761001",
            "nonce": nonce,
            "iat": now,
            "exp": now + 600,
            "at_hash": half_hash(ACCESS_TOKEN),
            "email": "ana@lab.example",
            "email_verified": True,
            "name": "Ana",
            "groups": ["hpc-admins", "staff"],
            **self.claims,
        }
        token = self.make(_without_none(claims))
        return web.json_response({"id_token": token, "access_token": ACCESS_TOKEN})


def _client(request: web.Request, form: Any) -> tuple[str, str, str]:
    method, _, encoded = request.headers.get("Authorization", "").partition(" ")
    if method == "Basic":
        id, _, secret = base64.b64decode(encoded).decode().partition(":")
        return "client_secret_basic", unquote_plus(id), unquote_plus(secret)
    secret = form.get("client_secret", "")
    return "client_secret_post" if secret else "none", form.get("client_id", ""), secret


def _without_none(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None}
