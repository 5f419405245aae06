"""Sign people in with an OpenID Connect provider: send them there, and see who comes back.

Authlib forms what is sent (PKCE, how the client shows its secret, the addresses) and
joserfc checks signatures. Authlib's HTTP client is not used: it is deprecated over httpx,
and a server needs one HTTP client, not two. Sessions, cookies and `state` are not here;
they belong to the browser, and the door that knows it.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote_plus

from authlib.common.urls import add_params_to_uri  # type: ignore[import-untyped]
from authlib.oauth2.auth import ClientAuth  # type: ignore[import-untyped]
from authlib.oauth2.rfc6749.parameters import (  # type: ignore[import-untyped]
    prepare_grant_uri,
    prepare_token_request,
)
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]

from clusterra.adapters.oidc.discovery import Discovery, discovery_address, understand
from clusterra.adapters.oidc.id_token import Expected, UnknownKey, verify
from clusterra.adapters.oidc.keys import KEPT, Keys
from clusterra.adapters.oidc.line import Answer, Line
from clusterra.adapters.oidc.person import person, prompt_for_another, told_enough
from clusterra.core.errors import Unauthenticated, Unreachable
from clusterra.ports import Claims, Clock


class OidcProvider:
    def __init__(
        self,
        *,
        issuer: str,
        client_id: str,
        client_secret: str,
        name: str,
        scopes: tuple[str, ...],
        groups_claim: str,
        clock: Clock,
    ) -> None:
        self.name = name
        self._issuer = issuer
        self._describes_itself_at = discovery_address(issuer)
        self._client_id = client_id
        self._client_secret = client_secret
        self._scope = " ".join(dict.fromkeys(("openid", *scopes)))
        self._groups_claim = groups_claim
        self._clock = clock
        self._line = Line(name)
        self._keys = Keys(self._line, clock)
        self._one_at_a_time = asyncio.Lock()
        self._discovered: tuple[datetime, Discovery] | None = None

    async def sign_in_url(
        self, *, state: str, nonce: str, verifier: str, redirect_uri: str, another: bool = False
    ) -> str:
        discovery = await self._discovery()
        more = {"prompt": prompt_for_another(discovery.issuer)} if another else {}
        return str(
            prepare_grant_uri(
                discovery.authorization,
                client_id=self._client_id,
                response_type="code",
                redirect_uri=redirect_uri,
                scope=self._scope,
                state=state,
                nonce=nonce,
                code_challenge=create_s256_code_challenge(verifier),
                code_challenge_method="S256",
                **more,
            )
        )

    async def redeem(self, code: str, *, verifier: str, nonce: str, redirect_uri: str) -> Claims:
        discovery = await self._discovery()
        tokens = await self._exchange(discovery, code, verifier, redirect_uri)
        id_token, access_token = _text(tokens, "id_token"), _text(tokens, "access_token")
        expected = Expected(
            name=self.name,
            issuer=discovery.issuer,
            client_id=self._client_id,
            algorithms=discovery.algorithms,
            nonce=nonce,
            access_token=access_token,
            now=self._clock.now(),
        )
        claims = await self._verified(id_token, discovery, expected)
        userinfo: Mapping[str, Any] = {}
        if discovery.userinfo and access_token and not told_enough(claims, self._groups_claim):
            userinfo = await self._userinfo(discovery, access_token, str(claims["sub"]))
        return person(
            claims,
            userinfo,
            provider=self.name,
            groups_claim=self._groups_claim,
            id_token=id_token,
        )

    async def sign_out_url(self, *, id_token: str, back_to: str) -> str:
        try:
            discovery = await self._discovery()
        except Unreachable:
            # Signing out here must not hang on whether the provider is up.
            return ""
        if not discovery.end_session:
            return ""
        asked = {
            "id_token_hint": id_token,
            "client_id": self._client_id,
            "post_logout_redirect_uri": back_to,
        }
        given = [(key, value) for key, value in asked.items() if value]
        return str(add_params_to_uri(discovery.end_session, given))

    async def close(self) -> None:
        await self._line.close()

    async def _discovery(self) -> Discovery:
        async with self._one_at_a_time:
            now = self._clock.now()
            if self._discovered is not None and now - self._discovered[0] < KEPT:
                return self._discovered[1]
            answer = await self._line.get(self._describes_itself_at)
            if answer.status != 200:
                raise Unreachable(
                    f"{self.name} does not describe itself: {self._describes_itself_at} answers"
                    f" {answer.status}.",
                    hint="An admin should check the issuer in the settings.",
                    code="provider-unreadable",
                )
            found = understand(answer.document, issuer=self._issuer, name=self.name)
            self._discovered = (now, found)
            return found

    async def _exchange(
        self, discovery: Discovery, code: str, verifier: str, redirect_uri: str
    ) -> Mapping[str, Any]:
        form = prepare_token_request(
            "authorization_code", code=code, redirect_uri=redirect_uri, code_verifier=verifier
        )
        address, headers, form = self._client(discovery).prepare("POST", discovery.token, {}, form)
        answer = await self._line.post(address, form, headers)
        if answer.status == 200 and "error" not in answer.document:
            return answer.document
        raise self._not_taken(answer)

    def _client(self, discovery: Discovery) -> ClientAuth:
        if not self._client_secret:
            return ClientAuth(self._client_id, None, "none")
        if discovery.token_auth == "client_secret_post":  # noqa: S105  # a method, not a secret
            return ClientAuth(self._client_id, self._client_secret, discovery.token_auth)
        # RFC 6749, section 2.3.1: encoded as in a form before they are joined, which Authlib
        # leaves to its caller.
        return ClientAuth(
            quote_plus(self._client_id), quote_plus(self._client_secret), discovery.token_auth
        )

    def _not_taken(self, answer: Answer) -> Unauthenticated:
        error = _text(answer.document, "error") or f"status {answer.status}"
        if error in ("invalid_client", "unauthorized_client"):
            return Unauthenticated(
                f"{self.name} does not know this server by the client id {self._client_id} and"
                " its secret.",
                hint="An admin should check both in the settings; secrets expire.",
                code="client-refused",
            )
        return Unauthenticated(
            f"{self.name} did not take the code that this browser came back with ({error[:60]}).",
            hint="A code holds once and for a minute or so: sign in again.",
            code="code-refused",
        )

    async def _verified(
        self, id_token: str, discovery: Discovery, expected: Expected
    ) -> Mapping[str, Any]:
        keys = await self._keys.at(discovery.keys)
        try:
            return verify(id_token, keys, expected)
        except UnknownKey:
            return verify(id_token, await self._keys.again(discovery.keys, keys), expected)

    async def _userinfo(
        self, discovery: Discovery, access_token: str, subject: str
    ) -> Mapping[str, Any]:
        answer = await self._line.get(discovery.userinfo, bearer=access_token)
        if answer.status != 200:
            raise Unreachable(
                f"{self.name} does not say more about you: it answers {answer.status}.",
                hint="Sign in again; if it stays so, tell an admin.",
                code="provider-unreadable",
            )
        if answer.document.get("sub") != subject:
            # OpenID Connect Core 5.3.2: else one person's token is dressed in another's address.
            raise Unauthenticated(
                f"{self.name} signed in one person and then described another.",
                hint="Sign in again. If it happens again, tell an admin.",
                code="bad-subject",
            )
        return answer.document


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else ""
