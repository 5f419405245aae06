"""The keys of a cluster: two at once to change over, and the one in the file."""

import asyncio

import pytest

from clusterra.control.people.people import FROM_FILE
from clusterra.core.errors import ClusterraError, Conflict, NotFound
from clusterra.core.people.credentials import CLUSTER_KEY, KEY_PREFIX, ClusterKey, hash_of
from clusterra.ports import Store
from tests.control.people.server import CLUSTER, DESK, FILE_KEY, HOME, OWNER, Server


async def made(server: Server, name: str = "new") -> tuple[str, ClusterKey]:
    return await server.people.keys.make(CLUSTER, HOME, name=name, by=OWNER)


def test_two_keys_live_at_once_and_a_third_waits_until_one_is_revoked(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        [from_file] = server.directory.keys_of(CLUSTER)
        secret, key = await made(server)

        with pytest.raises(Conflict) as refused:
            await made(server)
        await server.people.keys.revoke(CLUSTER, HOME, from_file.id, by=OWNER)
        await made(server, "newer")

        assert refused.value.code == "too-many-keys"
        assert from_file.id in refused.value.hint
        assert secret.startswith(KEY_PREFIX)
        assert server.directory.key(hash_of(secret)) == key
        assert server.directory.key(hash_of(FILE_KEY)) is None

    asyncio.run(story())


def test_of_those_who_make_the_second_key_in_one_moment_one_does(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()

        outcomes = await asyncio.gather(*(made(server) for _ in range(4)), return_exceptions=True)

        assert len(server.directory.keys_of(CLUSTER)) == 2
        late = [each for each in outcomes if isinstance(each, ClusterraError)]
        assert [each.code for each in late] == ["too-many-keys"] * 3

    asyncio.run(story())


def test_a_key_is_kept_as_a_hash_and_told_of_without_it(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()

        secret, key = await made(server)

        kept = repr(await store.list(CLUSTER_KEY)) + str(await server.events())
        assert key.id in kept
        assert secret not in kept
        assert FILE_KEY not in kept
        [*_, told] = await server.told("admin.key.created")
        assert (told["id"], told["cluster"], told["actor"]) == (key.id, CLUSTER, OWNER.actor)
        assert (told["address"], told["agent"]) == (DESK.address, DESK.agent)

    asyncio.run(story())


def test_a_revoked_key_is_gone_at_once_and_for_good(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        secret, key = await made(server)

        await server.people.keys.revoke(CLUSTER, HOME, key.id, by=OWNER)

        for each in (server, await server.restarted()):
            assert each.directory.key(hash_of(secret)) is None
        [told] = await server.told("admin.key.revoked")
        assert (told["id"], told["actor"]) == (key.id, OWNER.actor)
        for cluster, id in ((CLUSTER, key.id), (CLUSTER, "key_made-up"), ("clusother", key.id)):
            with pytest.raises(NotFound) as refused:
                await server.people.keys.revoke(cluster, HOME, id, by=OWNER)
            assert refused.value.code == "key-not-found"

    asyncio.run(story())


def test_the_key_in_the_file_is_taken_once_and_replaced_when_the_file_changes(
    store: Store,
) -> None:
    async def story() -> None:
        server = await Server(store).open()
        [first] = server.directory.keys_of(CLUSTER)

        same = await server.restarted()
        changed = await server.restarted(file_key="clk_another")

        assert first.name == FROM_FILE
        assert same.directory.keys_of(CLUSTER) == [first]
        [second] = changed.directory.keys_of(CLUSTER)
        assert second.hash == hash_of("clk_another")
        assert changed.directory.key(hash_of(FILE_KEY)) is None
        told = [each["type"] for each in await changed.told("admin.key.*")]
        assert told == ["admin.key.created", "admin.key.created", "admin.key.revoked"]

    asyncio.run(story())


def test_a_changed_file_ends_no_key_that_somebody_made(store: Store) -> None:
    async def story() -> None:
        server = await Server(store).open()
        secret, _ = await made(server)

        changed = await server.restarted(file_key="clk_another")

        assert changed.directory.key(hash_of(secret)) is not None
        assert len(changed.directory.keys_of(CLUSTER)) == 2

    asyncio.run(story())
