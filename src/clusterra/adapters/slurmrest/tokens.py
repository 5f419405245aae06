"""The short-lived tokens with which we speak to Slurm in a person's name.

Each is an HS256 JWT made here from Slurm's own key, good for one user and five
minutes. They travel to slurmrestd and nowhere else.
"""

from datetime import datetime, timedelta

import jwt

from clusterra.ports import Clock

LIFE = timedelta(minutes=5)
RENEWED = timedelta(minutes=1)  # before the end: a request under way must not outlive its token
BACKDATED = timedelta(seconds=5)  # clocks of two machines are rarely the same to the second


class Tokens:
    def __init__(self, key: bytes, clock: Clock) -> None:
        self._key = key
        self._clock = clock
        self._minted: dict[str, tuple[str, datetime]] = {}

    def of(self, user: str) -> str:
        """Return a token of `user` with at least a minute left."""
        now = self._clock.now()
        token, ends = self._minted.get(user, ("", now))
        if ends - now < RENEWED:
            self._minted = {
                who: kept for who, kept in self._minted.items() if kept[1] - now >= RENEWED
            }
            ends = now + LIFE
            token = jwt.encode(
                {
                    "iat": int((now - BACKDATED).timestamp()),
                    "exp": int(ends.timestamp()),
                    "sun": user,
                },
                self._key,
                algorithm="HS256",
            )
            self._minted[user] = token, ends
        return token
