"""What every store of files promises, a directory and a bucket alike.

Files go over its links, as people send them; nothing looks into the store but the store.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest

from clusterra.core.errors import Conflict, NotFound, Refused
from clusterra.ports import Cargo, Part
from tests.objects import ROOM, Shop, cargo, local_shop, s3_shop
from tests.s3 import s3

pytestmark = pytest.mark.enable_socket

DATA = f"{ROOM}/data"
MIB = 1 << 20
PART = 5 * MIB
"""The smallest that S3 takes, but for the last one."""


@pytest.fixture(scope="session")
def s3_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with s3(tmp_path_factory.mktemp("s3")) as url:
        yield url


@pytest.fixture(params=["local", "s3"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    if request.param == "local":
        with local_shop(tmp_path) as made:
            yield made
    else:
        with s3_shop(request.getfixturevalue("s3_url")) as made:
            yield made


def told(shop: Shop, story: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        try:
            await story()
        finally:
            await shop.close()

    asyncio.run(whole())


def bytes_of(size: int, seed: int = 1) -> bytes:
    return (seed.to_bytes(4, "big") * (size // 4 + 1))[:size]


def test_what_was_put_is_got_and_told_of(shop: Shop) -> None:
    async def story() -> None:
        data = bytes_of(3 * MIB + 7)
        await shop.put(f"{DATA}/runs/x.bin", data, content_type="text/x-reads")

        found = await shop.objects.stat(f"{DATA}/runs/x.bin")

        assert await shop.get(f"{DATA}/runs/x.bin") == data
        assert found is not None
        assert (found.size, found.sha256) == (len(data), cargo(data).sha256)
        assert found.content_type == "text/x-reads"
        assert abs(found.modified_at - shop.clock.now()) < timedelta(minutes=1)

    told(shop, story)


@pytest.mark.parametrize("name", ["ü b+c%2F(1)&=?#.txt", "日本語/ファイル", "a'b\"c*~!"])
def test_a_name_of_any_letters_comes_back_as_it_was(shop: Shop, name: str) -> None:
    async def story() -> None:
        await shop.put(f"{DATA}/{name}", b"x")

        assert await shop.get(f"{DATA}/{name}") == b"x"
        folder, _, _ = f"{DATA}/{name}".rpartition("/")
        listing = await shop.objects.list(f"{folder}/")
        assert [each.key for each in listing.files] == [f"{DATA}/{name}"]

    told(shop, story)


def test_an_empty_file_is_a_file(shop: Shop) -> None:
    async def story() -> None:
        await shop.put(f"{DATA}/empty", b"")

        assert await shop.get(f"{DATA}/empty") == b""

    told(shop, story)


# --- what is refused


async def refused(shop: Shop, key: str, said: Cargo, data: bytes, **headers: str) -> None:
    link = await shop.objects.presign_put(key, said)
    got = await shop.use(link, data, **headers)
    assert 400 <= got.status < 500, got
    assert await shop.objects.stat(key) is None
    assert not (await shop.objects.list(f"{DATA}/")).files


def test_another_length_is_refused_and_leaves_nothing(shop: Shop) -> None:
    async def story() -> None:
        await refused(shop, f"{DATA}/x", cargo(b"12345"), b"1234")
        await refused(shop, f"{DATA}/x", cargo(b"12345"), b"123456")

    told(shop, story)


def test_another_type_is_refused_and_leaves_nothing(shop: Shop) -> None:
    async def story() -> None:
        said = cargo(b"12345", content_type="text/plain")
        await refused(shop, f"{DATA}/x", said, b"12345", Content_Type="text/html")

    told(shop, story)


def test_another_content_is_refused_and_leaves_nothing(shop: Shop) -> None:
    async def story() -> None:
        await refused(shop, f"{DATA}/x", cargo(b"12345"), b"54321")

    told(shop, story)


def test_a_link_that_was_changed_is_refused(shop: Shop) -> None:
    async def story() -> None:
        await shop.put(f"{DATA}/x", b"mine")
        await shop.put(f"{DATA}/y", b"other")
        link = await shop.objects.presign_get(f"{DATA}/x")
        half = len(link.url) - 20
        swapped = "A" if link.url[half] != "A" else "B"
        changed = [
            link.url[:half] + swapped + link.url[half + 1 :],
            link.url[:-1] + ("0" if link.url[-1] != "0" else "1"),
            link.url.replace("/data/x", "/data/y") if "/data/x" in link.url else link.url[:-4],
        ]
        for url in changed:
            got = await shop.use(replace(link, url=url))
            assert 400 <= got.status < 500, got
            assert got.body not in (b"mine", b"other")

    told(shop, story)


def test_a_link_to_get_is_none_to_put_and_the_other_way_round(shop: Shop) -> None:
    async def story() -> None:
        await shop.put(f"{DATA}/x", b"mine")
        get = await shop.objects.presign_get(f"{DATA}/x")
        put = await shop.objects.presign_put(f"{DATA}/x", cargo(b"mine"))

        assert (await shop.use(replace(get, method="PUT"), b"evil")).status in (400, 403)
        assert (await shop.use(replace(get, method="DELETE"))).status in (400, 403)
        assert (await shop.use(replace(put, method="GET"))).status in (400, 403)
        assert await shop.get(f"{DATA}/x") == b"mine"

    told(shop, story)


def test_a_link_ends(shop: Shop) -> None:
    async def story() -> None:
        await shop.put(f"{DATA}/x", b"mine")
        shop.clock.behind = timedelta(minutes=16)
        get = await shop.objects.presign_get(f"{DATA}/x")
        put = await shop.objects.presign_put(f"{DATA}/new", cargo(b"new"))
        shop.clock.behind = timedelta()

        assert get.expires_at < shop.clock.now()
        assert (await shop.use(get)).status == 403
        assert (await shop.use(put, b"new")).status == 403
        assert await shop.objects.stat(f"{DATA}/new") is None

    told(shop, story)


def test_nothing_is_promised_of_what_is_not_there(shop: Shop) -> None:
    async def story() -> None:
        for act in (
            shop.objects.presign_get(f"{DATA}/no"),
            shop.objects.copy(f"{DATA}/no", f"{DATA}/x"),
            shop.objects.move(f"{DATA}/no", f"{DATA}/x"),
        ):
            with pytest.raises(NotFound):
                await act
        assert await shop.objects.delete(f"{DATA}/no") is False
        assert await shop.objects.stat(f"{DATA}/no") is None
        assert not (await shop.objects.list(f"{DATA}/no/")).files

    told(shop, story)


def test_what_is_cut_off_shortly_before_its_end_is_never_seen(shop: Shop) -> None:
    async def story() -> None:
        data = bytes_of(4 * MIB)
        await shop.put(f"{DATA}/x", b"before")
        link = await shop.objects.presign_put(f"{DATA}/x", cargo(data))

        async def cut() -> AsyncIterator[bytes]:
            yield data[: int(len(data) * 0.99)]
            raise ConnectionError("cut")

        with pytest.raises((ConnectionError, aiohttp.ClientError)):
            await shop.use(link, cut(), Content_Length=str(len(data)))

        assert await shop.get(f"{DATA}/x") == b"before"
        assert len((await shop.objects.list(f"{DATA}/")).files) == 1

    told(shop, story)


# --- parts of what is got


@pytest.mark.parametrize(
    ("span", "start", "stop"), [("0-4", 0, 5), ("5-", 5, 11), ("-3", 8, 11), ("3-99", 3, 11)]
)
def test_a_range_is_got_alone(shop: Shop, span: str, start: int, stop: int) -> None:
    async def story() -> None:
        await shop.put(f"{DATA}/x", b"hello world")

        got = await shop.use(await shop.objects.presign_get(f"{DATA}/x"), Range=f"bytes={span}")

        assert (got.status, got.body) == (206, b"hello world"[start:stop])
        assert got.headers["Content-Range"] == f"bytes {start}-{stop - 1}/11"

    told(shop, story)


def test_a_range_behind_the_end_is_refused(shop: Shop) -> None:
    async def story() -> None:
        await shop.put(f"{DATA}/x", b"hello world")

        got = await shop.use(await shop.objects.presign_get(f"{DATA}/x"), Range="bytes=11-")

        assert got.status == 416

    told(shop, story)


# --- files in parts


async def send_part(shop: Shop, key: str, upload: str, number: int, data: bytes) -> int:
    part = Part(number=number, size=len(data), sha256=cargo(data).sha256)
    return (await shop.use(await shop.objects.presign_part(key, upload, part), data)).status


def test_a_file_in_parts_is_seen_when_it_is_complete_and_not_before(shop: Shop) -> None:
    async def story() -> None:
        data = bytes_of(PART, 1) + bytes_of(PART, 2) + bytes_of(1000, 3)
        key = f"{DATA}/big"
        upload = await shop.objects.begin(key, cargo(data), PART)
        for number in (3, 1, 2):
            assert await shop.objects.stat(key) is None
            piece = data[(number - 1) * PART : number * PART]
            assert await send_part(shop, key, upload, number, piece) == 200

        await shop.objects.complete(key, upload, size=len(data))

        assert await shop.get(key) == data
        found = await shop.objects.stat(key)
        assert found is not None
        assert found.sha256 == cargo(data).sha256
        with pytest.raises(NotFound):
            await shop.objects.parts(key, upload)

    told(shop, story)


def test_whoever_is_cut_off_asks_which_parts_are_there_and_sends_the_rest(shop: Shop) -> None:
    async def story() -> None:
        data = bytes_of(PART, 1) + bytes_of(77, 2)
        key = f"{DATA}/big"
        upload = await shop.objects.begin(key, cargo(data), PART)
        await send_part(shop, key, upload, 1, data[:PART])

        with pytest.raises(Conflict):
            await shop.objects.complete(key, upload, size=len(data))
        there = await shop.objects.parts(key, upload)

        first = cargo(data[:PART])
        assert there == [Part(number=1, size=PART, sha256=first.sha256)]
        await send_part(shop, key, upload, 2, data[PART:])
        await shop.objects.complete(key, upload, size=len(data))
        assert await shop.get(key) == data

    told(shop, story)


def test_a_part_of_other_content_or_length_is_refused_and_does_not_count(shop: Shop) -> None:
    async def story() -> None:
        key, right = f"{DATA}/big", bytes_of(PART)
        upload = await shop.objects.begin(key, cargo(right), PART)
        part = Part(number=1, size=PART, sha256=cargo(right).sha256)
        link = await shop.objects.presign_part(key, upload, part)

        assert (await shop.use(link, bytes_of(PART, 9))).status in (400, 403, 422)
        assert (await shop.use(link, right[:-1])).status in (400, 403, 422)

        assert await shop.objects.parts(key, upload) == []
        assert (await shop.use(link, right)).status == 200

    told(shop, story)


def test_an_aborted_upload_leaves_nothing(shop: Shop) -> None:
    async def story() -> None:
        key = f"{DATA}/big"
        upload = await shop.objects.begin(key, cargo(b"12345"), PART)
        await send_part(shop, key, upload, 1, b"12345")

        await shop.objects.abort(key, upload)
        await shop.objects.abort(key, upload)

        with pytest.raises(NotFound):
            await shop.objects.complete(key, upload, size=5)
        assert await shop.objects.stat(key) is None

    told(shop, story)


def test_an_upload_belongs_to_its_key(shop: Shop) -> None:
    async def story() -> None:
        upload = await shop.objects.begin(f"{DATA}/mine", cargo(b"12345"), PART)
        await send_part(shop, f"{DATA}/mine", upload, 1, b"12345")

        with pytest.raises((NotFound, Refused)):
            await shop.objects.complete(f"{DATA}/other", upload, size=5)
        assert await shop.objects.stat(f"{DATA}/other") is None

    told(shop, story)


# --- what is there


def test_a_folder_is_listed_with_what_lies_directly_in_it(shop: Shop) -> None:
    async def story() -> None:
        for name in ("a.txt", "b/c.txt", "b/d/e.txt", "z.txt"):
            await shop.put(f"{DATA}/{name}", name.encode())
        await shop.put(f"{ROOM}/outputs/else", b"x")

        listing = await shop.objects.list(f"{DATA}/")
        inner = await shop.objects.list(f"{DATA}/b/")

        assert list(listing.folders) == [f"{DATA}/b/"]
        assert [(each.key, each.size) for each in listing.files] == [
            (f"{DATA}/a.txt", 5),
            (f"{DATA}/z.txt", 5),
        ]
        assert listing.next == ""
        assert list(inner.folders) == [f"{DATA}/b/d/"]
        assert [each.key for each in inner.files] == [f"{DATA}/b/c.txt"]

    told(shop, story)


def test_a_long_folder_comes_in_pages_without_gaps_or_repetition(shop: Shop) -> None:
    async def story() -> None:
        names = [f"f{number:02}" for number in range(23)] + ["g/x", "h/x"]
        for name in names:
            await shop.put(f"{DATA}/{name}", b"x")

        seen: list[str] = []
        after = ""
        pages = 0
        while True:
            page = await shop.objects.list(f"{DATA}/", after=after, limit=7)
            seen += [each.key for each in page.files] + list(page.folders)
            pages += 1
            if not (after := page.next):
                break

        expected = [f"{DATA}/{name}" for name in names[:23]] + [f"{DATA}/g/", f"{DATA}/h/"]
        assert seen == expected
        assert pages == 4

    told(shop, story)


def test_a_cursor_of_one_folder_leads_into_no_other(shop: Shop) -> None:
    async def story() -> None:
        for number in range(4):
            await shop.put(f"{DATA}/f{number}", b"x")
            await shop.put(f"{ROOM}/outputs/secret{number}", b"x")
        cursor = (await shop.objects.list(f"{ROOM}/outputs/", limit=2)).next

        page = await shop.objects.list(f"{DATA}/", after=cursor)

        assert all(each.key.startswith(f"{DATA}/") for each in page.files)

    told(shop, story)


def test_what_is_used_is_counted_below_a_prefix(shop: Shop) -> None:
    async def story() -> None:
        await shop.put(f"{DATA}/a", b"12345")
        await shop.put(f"{DATA}/b/c", b"123")
        await shop.put(f"{ROOM}/outputs/x", b"1234567")

        used = await shop.objects.used(f"{DATA}/")
        assert (used.files, used.bytes) == (2, 8)
        used = await shop.objects.used(f"{ROOM}/")
        assert (used.files, used.bytes) == (3, 15)

    told(shop, story)


def test_a_deleted_file_is_gone_and_its_empty_folder_with_it(shop: Shop) -> None:
    async def story() -> None:
        await shop.put(f"{DATA}/b/c", b"x")

        assert await shop.objects.delete(f"{DATA}/b/c") is True

        assert await shop.objects.stat(f"{DATA}/b/c") is None
        listing = await shop.objects.list(f"{DATA}/")
        assert not listing.files
        assert not listing.folders

    told(shop, story)


def test_a_copy_is_a_file_of_its_own(shop: Shop) -> None:
    async def story() -> None:
        await shop.put(f"{DATA}/a b%", b"first", content_type="text/plain")

        await shop.objects.copy(f"{DATA}/a b%", f"{ROOM}/outputs/new/copy")
        await shop.put(f"{DATA}/a b%", b"second")

        assert await shop.get(f"{ROOM}/outputs/new/copy") == b"first"
        found = await shop.objects.stat(f"{ROOM}/outputs/new/copy")
        assert found is not None
        assert (found.sha256, found.content_type) == (cargo(b"first").sha256, "text/plain")

    told(shop, story)


def test_a_moved_file_is_where_it_was_moved_and_no_longer_where_it_was(shop: Shop) -> None:
    async def story() -> None:
        await shop.put(f"{DATA}/a", b"first")
        await shop.put(f"{DATA}/c", b"replaced")

        await shop.objects.move(f"{DATA}/a", f"{DATA}/b/a")
        await shop.objects.move(f"{DATA}/b/a", f"{DATA}/c")

        assert await shop.get(f"{DATA}/c") == b"first"
        assert [each.key for each in (await shop.objects.list(f"{DATA}/")).files] == [f"{DATA}/c"]
        found = await shop.objects.stat(f"{DATA}/c")
        assert found is not None
        assert found.sha256 == cargo(b"first").sha256

    told(shop, story)


def test_earlier_versions_can_be_had_again(shop: Shop) -> None:
    async def story() -> None:
        key = f"{ROOM}/scripts/train.sh"
        for text in (b"one", b"two", b"three"):
            await shop.put(key, text, versioned=True)

        versions = await shop.objects.versions(key)

        assert [each.size for each in versions] == [5, 3, 3]
        assert [each.sha256 for each in versions] == [
            cargo(text).sha256 for text in (b"three", b"two", b"one")
        ]
        assert await shop.get(key, version=versions[2].version) == b"one"
        assert await shop.get(key) == b"three"
        with pytest.raises(NotFound):
            await shop.objects.presign_get(key, version="999")
        await shop.objects.copy(key, f"{DATA}/old", version=versions[1].version)
        assert await shop.get(f"{DATA}/old") == b"two"

    told(shop, story)


def test_what_the_server_puts_and_reads_itself_is_the_same(shop: Shop) -> None:
    async def story() -> None:
        data = bytes_of(2 * MIB + 5)

        async def pieces(given: bytes) -> AsyncIterator[bytes]:
            for start in range(0, len(given), 100_000):
                yield given[start : start + 100_000]

        await shop.objects.put(f"{DATA}/x", pieces(data), cargo(data))

        assert b"".join([piece async for piece in shop.objects.read(f"{DATA}/x")]) == data
        with pytest.raises(Refused):
            await shop.objects.put(f"{DATA}/y", pieces(data), cargo(bytes_of(2 * MIB + 5, 7)))
        assert await shop.objects.stat(f"{DATA}/y") is None

    told(shop, story)


def test_whoever_leaves_while_they_fetch_holds_up_nobody(shop: Shop) -> None:
    async def story() -> None:
        data = bytes_of(64 * MIB)
        await shop.put(f"{DATA}/big", data)
        link = await shop.objects.presign_get(f"{DATA}/big")
        for _ in range(3):
            await shop.leave(link)

        assert await shop.get(f"{DATA}/big") == data

    told(shop, story)
