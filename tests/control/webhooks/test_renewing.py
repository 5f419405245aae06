"""A lease that is renewed in the middle of a burst disturbs nobody."""

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path

from clusterra.adapters.sqlite.store import SqliteStore
from clusterra.core.webhooks.delivery import DeliveryState
from clusterra.core.webhooks.exchange import Answer, Outgoing
from tests.control.webhooks.post import Post


async def test_nothing_is_told_twice_because_the_lease_was_renewed(tmp_path: Path) -> None:
    # In memory a commit takes no time, and nothing can come in between.
    store = SqliteStore(tmp_path / "clusterra.db")
    post = await Post(store).open()
    endpoint = await post.endpoint()
    await post.happens(600)

    async def answers(outgoing: Outgoing) -> Answer:
        post.clock.advance(timedelta(seconds=0.5))
        for _ in range(len(post.receiver.got) % 7):  # some take longer than others
            await asyncio.sleep(0)
        return await post.receiver(outgoing)

    post.sender.answers = answers
    await post.deliver(endpoint)

    assert [id for id, times in Counter(post.receiver.ids).items() if times > 1] == []
    assert len(post.receiver.got) == 600
    assert (await store.delivery_tally(endpoint.id))[DeliveryState.OK] == 600
    store.close()
