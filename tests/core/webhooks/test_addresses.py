"""Which addresses may be dialled, at every edge of our table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.errors import Invalid
from clusterra.core.webhooks.addresses import listed, verdict
from clusterra.core.webhooks.endpoint import Reach

PUBLIC = ("1.1.1.1", "8.8.8.8", "93.184.216.34", "172.15.255.255", "172.32.0.0", "100.63.255.255")
PUBLIC_SIX = ("2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::808:808")

KINDS = {
    "0.0.0.0": "unspecified",
    "0.1.2.3": "unspecified",
    "10.0.0.1": "private",
    "100.64.0.1": "carrier-grade NAT",
    "100.127.255.255": "carrier-grade NAT",
    "100.100.100.200": "metadata",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "168.63.129.16": "metadata",
    "169.254.169.254": "link-local",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.0.0.192": "reserved",
    "192.0.2.1": "documentation",
    "192.88.99.1": "6to4 relay",
    "192.168.1.1": "private",
    "198.18.0.1": "benchmarking",
    "198.19.255.255": "benchmarking",
    "198.51.100.1": "documentation",
    "203.0.113.1": "documentation",
    "224.0.0.1": "multicast",
    "239.255.255.250": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "broadcast",
    "::": "unspecified",
    "::1": "loopback",
    "::127.0.0.1": "compatible",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:169.254.169.254": "link-local",
    "::ffff:10.0.0.1": "private",
    "64:ff9b::a9fe:a9fe": "NAT64 of link-local",
    "64:ff9b::7f00:1": "NAT64 of loopback",
    "64:ff9b:1::a9fe:a9fe": "local NAT64",
    "100::1": "discard",
    "2001::1": "Teredo",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2": "Teredo",
    "2001:2::1": "benchmarking",
    "2001:10::1": "reserved",
    "2001:db8::1": "documentation",
    "2002:a9fe:a9fe::": "6to4",
    "2002:7f00:1::": "6to4",
    "3fff::1": "documentation",
    "2606:4700::5efe:7f00:1": "ISATAP",
    "4000::1": "reserved",
    "5f00::1": "reserved",
    "fc00::1": "private",
    "fd00:ec2::254": "metadata",
    "fd12:3456::1": "private",
    "fd20:ce::254": "metadata",
    "fe80::1": "link-local",
    "fec0::1": "site-local",
    "ff02::1": "multicast",
    "fe80::1%eth0": "unreadable",
    "::1%1": "unreadable",
    "2852039166": "unreadable",
    "0x7f000001": "unreadable",
    "0177.0.0.1": "unreadable",
    "127.1": "unreadable",
    "": "unreadable",
    "hook.lab.example": "unreadable",
}


@pytest.mark.parametrize("address", PUBLIC + PUBLIC_SIX)
def test_public_addresses_may_always_be_dialled(address: str) -> None:
    assert {verdict(address, reach) for reach in Reach} == {""}


@pytest.mark.parametrize("address", KINDS)
def test_nothing_else_may_be_dialled_by_a_stranger(address: str) -> None:
    assert verdict(address, Reach.PUBLIC) == KINDS[address]
    assert verdict(address, Reach.LISTED) == KINDS[address]


@pytest.mark.parametrize("address", KINDS)
def test_a_private_endpoint_reaches_private_addresses_and_no_others(address: str) -> None:
    opened = KINDS[address] in ("loopback", "private", "carrier-grade NAT")

    assert verdict(address, Reach.PRIVATE) == ("" if opened else KINDS[address])


def test_the_list_opens_what_is_on_it_to_those_who_may_use_it() -> None:
    some = listed(["10.1.0.0/16", "169.254.7.7", "fd12:3456::/32"])

    for reach in (Reach.LISTED, Reach.PRIVATE):
        assert verdict("10.1.255.255", reach, some) == ""
        assert verdict("169.254.7.7", reach, some) == ""
        assert verdict("fd12:3456::9", reach, some) == ""
        assert verdict("169.254.169.254", reach, some) == "link-local"
    assert verdict("10.2.0.0", Reach.LISTED, some) == "private"
    assert verdict("10.1.0.1", Reach.PUBLIC, some) == "private"


def test_a_listed_name_may_lead_to_private_addresses_but_not_to_credentials() -> None:
    some = listed(["CI.lab.example."])

    assert verdict("10.9.9.9", Reach.LISTED, some, host="ci.lab.example") == ""
    assert verdict("10.9.9.9", Reach.LISTED, some, host="other.lab.example") == "private"
    assert verdict("10.9.9.9", Reach.PUBLIC, some, host="ci.lab.example") == "private"
    assert verdict("169.254.169.254", Reach.LISTED, some, host="ci.lab.example") == "link-local"


@pytest.mark.parametrize("address", ["0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "ff02::1"])
def test_no_list_opens_what_nobody_can_answer_from(address: str) -> None:
    everything = listed(["0.0.0.0/0", "::/0"])

    assert verdict(address, Reach.PRIVATE, everything)


@pytest.mark.parametrize("address", ["64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::10.0.0.1"])
def test_no_list_opens_an_address_in_disguise(address: str) -> None:
    assert verdict(address, Reach.PRIVATE, listed(["10.0.0.0/8", "169.254.0.0/16", "::/0"]))


@pytest.mark.parametrize(
    "entry", ["10.1.2.3/16", "10.1.0.0/33", "", "a b", "10.1", "*.lab.example"]
)
def test_a_list_that_cannot_be_read_is_refused_with_an_example(entry: str) -> None:
    with pytest.raises(Invalid) as caught:
        listed([entry])
    assert "10.1.0.0/16" in caught.value.hint


@given(st.ip_addresses(), st.sampled_from(Reach))
def test_a_mapped_address_is_judged_as_what_it_maps_to(address: object, reach: Reach) -> None:
    text = str(address)
    if ":" not in text:
        assert verdict(f"::ffff:{text}", reach) == verdict(text, reach)


@given(st.text(max_size=60))
def test_whatever_is_asked_there_is_a_verdict(text: str) -> None:
    assert isinstance(verdict(text, Reach.PUBLIC), str)
