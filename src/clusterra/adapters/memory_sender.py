"""A sender that sends nothing, for tests: it remembers, and answers as it is told."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from inspect import isawaitable

from clusterra.core.errors import Invalid
from clusterra.core.webhooks.addresses import listed, verdict
from clusterra.core.webhooks.endpoint import Reach
from clusterra.core.webhooks.exchange import Answer, Outgoing
from clusterra.core.webhooks.url import not_public, read_url, unsent

Script = Callable[[Outgoing], Answer | Awaitable[Answer]]


class MemorySender:
    def __init__(
        self,
        answers: Script | Iterable[Answer] = (),
        *,
        private: Iterable[str] = (),
        names: Mapping[str, str] | None = None,
    ) -> None:
        """`answers`: what to call for one, or each in turn and then 200.

        `names`: where names lead; those that are not in it lead somewhere public.
        """
        self.answers: Script | list[Answer] = answers if callable(answers) else list(answers)
        self.sent: list[Outgoing] = []
        self.names = dict(names or {})
        self._listed = listed(private)

    async def check(self, url: str, reach: Reach) -> None:
        target = read_url(url, reach, self._listed)
        leads_to = self.names.get(target.host, "")
        if leads_to and verdict(leads_to, reach, self._listed, host=target.host):
            raise not_public(target.host, reach)

    async def send(self, outgoing: Outgoing) -> Answer:
        try:
            await self.check(outgoing.url, outgoing.reach)
        except Invalid as error:
            return unsent(error)
        self.sent.append(outgoing)
        if not callable(self.answers):
            return self.answers.pop(0) if self.answers else Answer(status=200)
        answer = self.answers(outgoing)
        return await answer if isawaitable(answer) else answer

    async def close(self) -> None:
        """It holds nothing."""
