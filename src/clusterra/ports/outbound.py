"""How others are told."""

from typing import Protocol

from clusterra.core.webhooks.endpoint import Reach
from clusterra.core.webhooks.exchange import Answer, Outgoing
from clusterra.core.webhooks.mail import Mail


class Sender(Protocol):
    """HTTP to addresses that others have chosen."""

    async def check(self, url: str, reach: Reach) -> None:
        """Raise Invalid, with the verdict that a delivery would meet, if it may not be dialled."""
        ...

    async def send(self, outgoing: Outgoing) -> Answer:
        """POST once and say what came of it, within the time that the settings allow.

        No redirect is followed, no address dialled that `reach` does not allow, and no more
        read than is kept. Whatever the far side does is an answer and raises nothing.
        """
        ...

    async def close(self) -> None: ...


class Mailer(Protocol):
    """Sends e-mail."""

    async def mail(self, mail: Mail) -> Answer:
        """Hand it over once and say what came of it; raises nothing."""
        ...
