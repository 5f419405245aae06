"""The part of the pretended server that lets people in.

Refresh tokens work once; showing an old one ends the session, as the real one has it.
"""

import threading
from collections.abc import Callable

from clusterra.wire.people import SignedIn, SignedOut, TerminalAsked
from tests.cli.world import Answer, Asked, FakeApi, me, problem

CODE = "WDJB-MJHT"
PENDING = problem(400, "authorization-pending", "Nobody has decided yet.", kind="refused")
SLOW_DOWN = problem(400, "slow-down", "Ask less often.", kind="refused")
DENIED = problem(400, "access-denied", "It was turned down.", kind="refused")
EXPIRED = problem(400, "device-code-expired", "The code has ended.", kind="refused")


class Signing:
    def __init__(self, api: FakeApi) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._number = 0
        self.good_refresh = ""
        self.refreshed = 0
        self.first: list[Answer] = []
        """What the terminal is told, time after time, before it is let in."""
        self.on_question: Callable[[], None] = lambda: None
        self.interval = 5
        self.signed_out: list[str] = []
        self.provider: str | None = None
        api.tokens.clear()
        api.routes |= {
            "POST /v1/auth/device": self._device,
            "POST /v1/auth/device/token": self._token,
            "POST /v1/auth/refresh": self._refresh,
            "POST /v1/auth/logout": self._logout,
            "GET /v1/users/me": self._me,
        }

    def sign_in(self) -> SignedIn:
        self._number += 1
        made = SignedIn(
            email="ana@lab.example",
            expires_in=900,
            access_token=f"access-{self._number}",
            refresh_token=f"refresh-{self._number}",
        )
        self._api.tokens.add(f"access-{self._number}")
        self.good_refresh = f"refresh-{self._number}"
        return made

    def end_access(self) -> None:
        """Let every access token end; sessions go on."""
        self._api.ended_tokens |= self._api.tokens
        self._api.tokens.clear()

    def end_session(self) -> None:
        self.end_access()
        self.good_refresh = ""

    def _device(self, _: Asked) -> TerminalAsked:
        page = f"{self._api.url}/device"
        return TerminalAsked(
            device_code="device-secret",
            user_code=CODE,
            verification_uri=page,
            verification_uri_complete=f"{page}?code={CODE}",
            expires_in=600,
            interval=self.interval,
        )

    def _token(self, asked: Asked) -> SignedIn | Answer:
        assert asked.body == {"device_code": "device-secret"}
        self.on_question()
        return self.first.pop(0) if self.first else self.sign_in()

    def _refresh(self, asked: Asked) -> SignedIn | Answer:
        with self._lock:
            self.refreshed += 1
            if asked.body["refresh_token"] != self.good_refresh:
                self.end_session()
                return problem(401, "session-ended", "Used twice.", kind="unauthenticated")
            return self.sign_in()

    def _logout(self, asked: Asked) -> SignedOut | Answer:
        token = asked.headers["authorization"].removeprefix("Bearer ")
        if token not in self._api.tokens:
            return problem(401, "unauthenticated", "Nobody knows this token.")
        self.signed_out.append(token)
        self.end_session()
        return SignedOut(url=self.provider)

    def _me(self, asked: Asked) -> object:
        if asked.headers.get("authorization", "").removeprefix("Bearer ") in self._api.tokens:
            return me()
        return problem(401, "unauthenticated", "This token is not known here.")
