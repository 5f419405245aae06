"""No address is dialled that may not be, however it is written and whoever leads there."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clusterra.adapters.sender import HttpSender, names
from clusterra.adapters.sender.dial import DIAL, Dial, Stopped
from clusterra.adapters.sender.guard import Guard
from clusterra.core.errors import Invalid
from clusterra.core.webhooks.addresses import NOTHING
from clusterra.core.webhooks.endpoint import Reach
from clusterra.core.webhooks.exchange import Failure
from clusterra.core.webhooks.url import read_url
from tests.adapters.sender import certificates
from tests.adapters.sender.acts import OK, answers_well
from tests.adapters.sender.hostile import Peer, serving
from tests.adapters.sender.recorder import PUBLIC, Recorder, sending, to
from tests.adapters.sender.spellings import ADDRESSES, HOSTS, in_url

pytestmark = pytest.mark.enable_socket

NAME = "hook.lab.example"
URL = f"https://{NAME}/hook"
METADATA = "169.254.169.254"


def story(
    tell: Callable[[HttpSender, Recorder], Awaitable[None]],
    leads_to: Any = (),
    **settings: Any,
) -> None:
    """Tell it with a sender for which our name leads there."""

    async def run() -> None:
        recorder = Recorder({NAME: leads_to})
        async with sending(recorder, **settings) as sender:
            await tell(sender, recorder)

    asyncio.run(run())


async def refused(sender: HttpSender, recorder: Recorder, url: str = URL) -> Invalid:
    """Expect the same verdict of the check and of the delivery, and nobody dialled."""
    with pytest.raises(Invalid) as caught:
        await sender.check(url, Reach.PUBLIC)
    answer = await sender.send(to(url))
    assert answer.failure in (Failure.BLOCKED, Failure.URL)
    assert answer.why == caught.value.detail
    assert answer.remote == ""
    assert recorder.dialled == []
    return caught.value


def test_there_are_enough_of_them() -> None:
    assert len(set(ADDRESSES) | set(HOSTS)) >= 80


def test_no_hostile_address_is_dialled_when_it_stands_in_the_url() -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        for address in ADDRESSES:
            assert (await refused(sender, recorder, in_url(address))).code == "blocked-address"
        assert recorder.asked == []

    story(tell)


def test_no_hostile_address_is_dialled_when_a_name_leads_there() -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        for address in ADDRESSES:
            recorder.names[NAME] = [address]
            error = await refused(sender, recorder)
            assert error.code == "blocked-address"
            assert address not in f"{error.detail} {error.hint}"

    story(tell)


@pytest.mark.parametrize("host", HOSTS)
def test_no_odd_spelling_of_a_host_is_dialled_or_even_asked_for(host: str) -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        await refused(sender, recorder, f"https://{host}/hook")
        assert recorder.asked == []

    story(tell)


def test_a_socket_is_refused_even_if_nobody_judged_the_address_before() -> None:
    recorder = Recorder()
    guard = Guard(NOTHING, (), recorder.opening)
    token = DIAL.set(Dial(read_url(URL, Reach.PUBLIC), Reach.PUBLIC, proxied=False))
    try:
        for address in ADDRESSES:
            six = ":" in address
            family = socket.AF_INET6 if six else socket.AF_INET
            place = (address, 443, 0, 0) if six else (address, 443)
            with pytest.raises(Stopped):
                guard.socket((family, socket.SOCK_STREAM, 6, "", place))
    finally:
        DIAL.reset(token)
    assert recorder.dialled == []


def test_a_socket_for_nobody_is_not_opened() -> None:
    guard = Guard(NOTHING, (), Recorder().opening)
    with pytest.raises(LookupError):
        guard.socket((socket.AF_INET, socket.SOCK_STREAM, 6, "", (PUBLIC, 443)))


@pytest.mark.parametrize(
    "answers",
    [
        [PUBLIC, "10.0.0.1"],
        ["10.0.0.1", PUBLIC],
        [PUBLIC, "fd12::1"],
        [PUBLIC, "::ffff:169.254.169.254"],
        [*["8.8.8.8"] * 40, METADATA],
        [PUBLIC, "fe80::1%eth0"],
        [PUBLIC, "nonsense"],
    ],
)
def test_one_bad_answer_among_good_ones_is_enough(answers: list[str]) -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        await refused(sender, recorder)

    story(tell, answers)


def test_a_name_with_many_addresses_does_not_make_us_dial_them_all() -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        assert (await sender.send(to(URL))).failure is Failure.CONNECT
        assert 0 < len(set(recorder.dialled)) <= 8

    story(tell, [f"8.8.{each}.8" for each in range(200)])


def test_a_name_that_turns_bad_after_the_check_is_not_dialled() -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        await sender.check(URL, Reach.PUBLIC)
        answer = await sender.send(to(URL))

        assert answer.failure is Failure.BLOCKED
        assert METADATA not in answer.why
        assert recorder.dialled == []

    story(tell, [[PUBLIC], [METADATA]])


def test_a_name_that_turns_bad_between_two_tries_is_not_dialled() -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        first = await sender.send(to(URL))
        second = await sender.send(to(URL))

        assert (first.failure, second.failure) == (Failure.CONNECT, Failure.BLOCKED)
        assert recorder.dialled == [PUBLIC]

    story(tell, [[PUBLIC], [METADATA]])


def test_a_name_that_turns_bad_while_a_connection_is_kept_gets_no_new_one() -> None:
    async def twice(peer: Peer) -> None:
        for _ in range(2):
            await peer.hear()
            await peer.say(OK + b"Content-Length: 0\r\n\r\n")
        await peer.hear()

    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        async with serving(twice) as place:
            url = f"http://{NAME}:{place.port}/hook"
            first = await sender.send(to(url, Reach.PRIVATE))
            kept = await sender.send(to(url, Reach.PRIVATE))
            # The server closes on the third, and a new connection would go elsewhere.
            third = await sender.send(to(url, Reach.PRIVATE))

            assert (first.status, kept.status) == (200, 200)
            assert third.failure is Failure.BLOCKED
            assert recorder.dialled == ["127.0.0.1"]

    story(tell, [["127.0.0.1"], [METADATA]])


def test_a_connection_is_not_shared_between_endpoints_of_different_reach() -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        async with serving(answers_well) as place:
            url = f"http://{NAME}:{place.port}/hook"
            assert (await sender.send(to(url, Reach.PRIVATE))).status == 200
            assert (await sender.send(to(url, Reach.LISTED))).failure is Failure.BLOCKED
            assert (await sender.send(to(url, Reach.PRIVATE))).status == 200
            assert place.connections == 1

    story(tell, ["127.0.0.1"])


def test_what_the_operator_has_listed_is_reached_by_those_who_may() -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        async with serving(answers_well) as place:
            url = f"http://{NAME}:{place.port}/hook"
            await sender.check(url, Reach.LISTED)
            assert (await sender.send(to(url, Reach.LISTED))).status == 200
            secure = url.replace("http:", "https:")
            assert (await sender.send(to(secure, Reach.PUBLIC))).failure is Failure.BLOCKED

    story(tell, ["127.0.0.1"], private=[NAME])
    story(tell, ["127.0.0.1"], private=["127.0.0.0/8"])


@pytest.mark.parametrize(
    ("own", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "127.8.8.8"),
        ("127.0.0.1", "::1"),
        ("localhost", "::ffff:127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "127.0.0.2"),
        ("10.1.2.3", "10.1.2.3"),
        ("10.1.2.3", "::ffff:10.1.2.3"),
        ("clusterra.lab.example", "127.0.0.1"),
    ],
)
def test_our_own_door_is_never_dialled(own: str, address: str) -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        for host in (NAME, f"[{address}]" if ":" in address else address):
            url = f"http://{host}:8080/v1"
            with pytest.raises(Invalid) as caught:
                await sender.check(url, Reach.PRIVATE)
            assert "this server" in caught.value.detail
            assert (await sender.send(to(url, Reach.PRIVATE))).failure is Failure.BLOCKED
            await sender.check(url.replace("8080", "8081"), Reach.PRIVATE)
        assert recorder.dialled == []

    story(tell, [address], own={(own, 8080)})


def test_a_door_on_every_address_is_found_behind_each_of_them() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((PUBLIC, 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        mine = asking.getsockname()[0]

    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        with pytest.raises(Invalid):
            await sender.check(f"http://{mine}:8080/", Reach.PRIVATE)

    story(tell, own={("0.0.0.0", 8080)})


def test_a_door_on_one_address_does_not_stand_for_its_neighbours() -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        await sender.check("http://10.1.2.4:8080/", Reach.PRIVATE)

    story(tell, own={("10.1.2.3", 8080), ("127.0.0.1", 8080)})


@pytest.mark.parametrize(
    ("raised", "why"),
    [
        (socket.gaierror(socket.EAI_NONAME, ""), f"The name {NAME} is not known."),
        (
            socket.gaierror(socket.EAI_AGAIN, ""),
            f"The name {NAME} could not be looked up: its name server has no answer.",
        ),
        (
            socket.gaierror(socket.EAI_FAIL, ""),
            f"The name {NAME} could not be looked up: its name server has no answer.",
        ),
        (
            UnicodeError("label too long"),
            f"The name {NAME} could not be looked up: its name server has no answer.",
        ),
    ],
)
def test_a_name_that_leads_nowhere_is_said_to(raised: Exception, why: str) -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        with pytest.raises(Invalid) as caught:
            await sender.check(URL, Reach.PUBLIC)
        answer = await sender.send(to(URL))

        assert caught.value.detail == answer.why == why
        assert answer.failure is Failure.DNS
        assert recorder.dialled == []

    story(tell, raised)


def test_a_name_server_has_a_time_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "PATIENCE", 0.05)

    async def never() -> list[str]:
        await asyncio.Event().wait()
        return []

    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        answer = await sender.send(to(URL))
        assert answer.failure is Failure.DNS
        assert answer.why == f"The name {NAME} could not be looked up within 0.05 s."

    story(tell, never)


def test_a_slow_name_server_does_not_outlast_the_delivery() -> None:
    async def never() -> list[str]:
        await asyncio.Event().wait()
        return []

    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        assert (await sender.send(to(URL))).failure is Failure.DNS

    story(tell, never, timeout_seconds=0.1)


def test_many_who_ask_for_one_name_take_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def ask(host: str) -> list[str]:
        calls.append(host)
        return [PUBLIC]

    monkeypatch.setattr(names, "_ask", ask)

    async def run() -> None:
        threads = names.Threads()
        found = await asyncio.gather(*(threads(NAME) for _ in range(50)))
        assert found == [[PUBLIC]] * 50
        threads.close()

    asyncio.run(run())
    assert calls == [NAME]


def test_the_machines_own_way_to_look_names_up_gives_addresses() -> None:
    async def run() -> None:
        threads = names.Threads()
        assert "127.0.0.1" in await threads("localhost")
        threads.close()

    asyncio.run(run())


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        async with serving(answers_well) as place, serving(answers_well) as proxy:
            for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            url = f"http://{NAME}:{place.port}/hook"

            assert (await sender.send(to(url, Reach.PRIVATE))).status == 200
            assert (place.connections, proxy.connections) == (1, 0)

    story(tell, ["127.0.0.1"])


def test_a_proxy_of_the_settings_is_used_and_targets_are_judged_all_the_same() -> None:
    async def run() -> None:
        async with serving(answers_well) as proxy:
            leads = {
                NAME: ["8.8.8.8"],
                "bad.example": [METADATA],
                "proxy.lab.example": ["127.0.0.1"],
            }
            recorder = Recorder(leads)
            through = f"http://proxy.lab.example:{proxy.port}"
            async with sending(recorder, proxy=through) as sender:
                good = await sender.send(to(f"http://{NAME}/hook", Reach.LISTED))
                unknown = await sender.send(to("http://outside.example/hook", Reach.LISTED))
                assert (good.status, unknown.status) == (200, 200)
                assert len(proxy.requests) == 2
                assert proxy.requests[0].startswith(f"POST http://{NAME}/hook HTTP/1.1".encode())

                for url in ("http://bad.example/", f"http://{METADATA}/", "http://10.0.0.1/"):
                    bad = await sender.send(to(url, Reach.LISTED))
                    assert bad.failure is Failure.BLOCKED
                assert len(proxy.requests) == 2
            assert set(recorder.dialled) == {"127.0.0.1"}

    asyncio.run(run())


def test_behind_a_proxy_https_is_between_us_and_the_endpoint_alone() -> None:
    async def run() -> None:
        async with serving(answers_well, tls=certificates.good) as place:

            async def passes_on(peer: Peer) -> None:
                await peer.hear()
                await peer.say(b"HTTP/1.1 200 Connected\r\n\r\n")
                await peer.pass_on_to(place.port)

            async with serving(passes_on) as proxy:
                recorder = Recorder({NAME: [PUBLIC]})
                authorities = certificates.root().pem.decode()
                through = f"http://127.0.0.1:{proxy.port}"
                async with sending(recorder, proxy=through, authorities=authorities) as sender:
                    answers = [await sender.send(to(URL)) for _ in range(2)]
                async with sending(recorder, proxy=through) as unbelieving:
                    wrong = await unbelieving.send(to(URL))

        assert [answer.status for answer in answers] == [200, 200]
        assert len(place.requests) == 2
        assert place.requests[0].startswith(b"POST /hook HTTP/1.1")
        [first, second] = proxy.requests  # the connection is kept for the second message
        assert first.startswith(f"CONNECT {NAME}:443 ".encode())
        assert b"webhook-id" not in first.lower()
        assert second.startswith(b"CONNECT")
        assert wrong.failure is Failure.TLS

    asyncio.run(run())


def test_a_proxy_that_will_not_pass_it_on_is_named_as_the_reason() -> None:
    async def denies(peer: Peer) -> None:
        await peer.hear()
        await peer.say(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        answer = await sender.send(to(URL))
        assert answer.failure is Failure.CONNECT
        assert answer.why == "The proxy that deliveries go through answered 403."

    async def run() -> None:
        async with serving(denies) as proxy:
            recorder = Recorder({NAME: [PUBLIC]})
            async with sending(recorder, proxy=f"http://127.0.0.1:{proxy.port}") as sender:
                await tell(sender, recorder)

    asyncio.run(run())


def test_a_header_that_would_become_two_is_not_sent() -> None:
    async def tell(sender: HttpSender, recorder: Recorder) -> None:
        async with serving(answers_well) as place:
            url = f"http://{NAME}:{place.port}/hook"
            odd = to(url, Reach.PRIVATE)
            object.__setattr__(odd, "headers", {"webhook-id": "evt_1\r\nHost: other"})

            assert (await sender.send(odd)).failure is Failure.URL
            assert place.requests == []

    story(tell, ["127.0.0.1"])
