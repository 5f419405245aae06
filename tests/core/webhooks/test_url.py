"""One reading of an endpoint's address: what comes out cannot be read as another host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from clusterra.core.errors import Invalid
from clusterra.core.webhooks.addresses import listed
from clusterra.core.webhooks.endpoint import Reach
from clusterra.core.webhooks.url import read_url


def refused(url: str, reach: Reach = Reach.PUBLIC) -> Invalid:
    with pytest.raises(Invalid) as caught:
        read_url(url, reach)
    assert caught.value.at == "url"
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://hooks.example.com", "https://hooks.example.com/"),
        ("HTTPS://Hooks.Example.COM.:443/T0/B1", "https://hooks.example.com/T0/B1"),
        ("https://hooks.example.com:8443?a=b", "https://hooks.example.com:8443/?a=b"),
        ("https://x.example/ä?n=ü", "https://x.example/%C3%A4?n=%C3%BC"),
        ("https://x.example/w?sig=a%2Bb%20c+d%3D", "https://x.example/w?sig=a%2Bb%20c+d%3D"),
        ("https://8.8.8.8./x", "https://8.8.8.8/x"),
        ("https://[2606:4700:0::1111]:9443/x", "https://[2606:4700::1111]:9443/x"),
        ("https://a_b.example:0443/", "https://a_b.example/"),
    ],
)
def test_what_is_sent_is_the_same_address_in_one_spelling(url: str, sent: str) -> None:
    assert read_url(url, Reach.PUBLIC).url == sent


@pytest.mark.parametrize(
    "host",
    [
        *("0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "127.1", "0177.0.0.1", "0x7f.0.0.1"),
        *("127.0.0.1.5", "256.1.1.1", "1.2.3", "0", "00000000", "0x", "a.b.0x1", "4294967297"),
        *("127。0。0。1", "１２７.0.0.1", "①②⑦.0.0.1", "169．254．169．254", "ⓛocalhost"),
        *("[::1%25lo]", "[fe80::1%eth0]", "[::1]x", "[::1", "[127.0.0.1]", "[v1.x]", "[]"),
        *("a..example", ".example.com", "x.example..", "-x.example", "x-.example", "x" * 64),
        *("%31%32%37.0.0.1", "a%00.example", "a,b.example", "a;b.example", "*.example", ""),
    ],
)
def test_odd_spellings_of_hosts_are_refused(host: str) -> None:
    refused(f"https://{host}/hook")
    refused(f"https://{host}/hook", Reach.PRIVATE)


@pytest.mark.parametrize(
    "url",
    [
        "https://u:p@x.example/",
        "https://x.example@169.254.169.254/",
        "https://x.example\\@y.example/",
        "https://x.example/\r\nHost: y.example",
        "https://x.example/a\tb",
        "https://x.example/ b",
        " https://x.example/",
        "https://x.example/\x00",
        "https://x.example/\u202egpj",
        "https://x.example/#part",
        "https://x.example/#",
        "https:///path",
        "https:x.example",
        "//x.example/",
        "x.example",
        "ftp://x.example/",
        "file:///etc/passwd",
        "gopher://x.example:6379/_",
        "mailto:ops@x.example",
        "javascript:alert(1)",
        "https://x.example/" + "a" * 2048,
        "",
    ],
)
def test_what_is_no_plain_web_address_is_refused(url: str) -> None:
    refused(url)
    refused(url, Reach.PRIVATE)


def test_a_name_that_is_not_ascii_is_refused_with_its_ascii_form() -> None:
    assert "xn--bcher-kva.example" in refused("https://bücher.example/").hint


def test_http_is_only_for_endpoints_inside() -> None:
    assert "https://" in refused("http://hooks.example.com/").detail
    assert read_url("http://hooks.example.com/", Reach.LISTED).port == 80
    assert not read_url("http://10.0.0.1:3000/", Reach.PRIVATE).secure


@pytest.mark.parametrize("port", [0, 22, 25, 53, 111, 445, 1023, 65536, 99999])
def test_low_ports_are_for_nobody(port: int) -> None:
    refused(f"https://x.example:{port}/")
    refused(f"https://x.example:{port}/", Reach.PRIVATE)


@pytest.mark.parametrize("port", [2049, 3306, 5432, 6379, 6443, 9200, 11211, 27017])
def test_ports_of_other_services_are_only_for_endpoints_inside(port: int) -> None:
    refused(f"https://x.example:{port}/")
    assert read_url(f"https://x.example:{port}/", Reach.LISTED).port == port


@pytest.mark.parametrize("port", [6817, 6818, 6819, 6820])
def test_slurms_own_ports_are_for_nobody(port: int) -> None:
    for reach in Reach:
        assert str(port) in refused(f"https://x.example:{port}/", reach).detail


@pytest.mark.parametrize("port", [80, 443, 1024, 3000, 8080, 8443, 65535])
def test_other_ports_are_for_everybody(port: int) -> None:
    assert read_url(f"https://x.example:{port}/", Reach.PUBLIC).port == port


def test_an_address_that_is_not_public_is_refused_with_the_way_to_allow_it() -> None:
    error = refused("https://10.1.2.3/hook")

    assert error.detail == "10.1.2.3 is an address that is not public."
    assert error.code == "blocked-address"
    assert "--allow-private" in error.hint
    assert "webhooks.private" in error.hint


def test_localhost_is_loopback_without_asking_anybody() -> None:
    assert refused("https://localhost:3000/").code == "blocked-address"
    assert refused("https://a.localhost:3000/").code == "blocked-address"
    assert read_url("http://localhost:3000/", Reach.PRIVATE).host == "localhost"
    assert read_url("http://localhost:3000/", Reach.LISTED, listed(["localhost"]))


def test_a_private_endpoint_never_reaches_credentials() -> None:
    error = refused("http://169.254.169.254/latest/meta-data", Reach.PRIVATE)

    assert error.code == "blocked-address"
    assert "--allow-private" not in error.hint


def test_the_whole_address_is_not_shown_by_accident() -> None:
    assert "B1secret" not in repr(read_url("https://x.example/B1secret", Reach.PUBLIC))


@given(
    st.text(alphabet="htps:/@.[]%#?\\0x127aé。-_ \t", max_size=40)
    | st.text(alphabet="0x127af.:[]%", max_size=24).map(lambda host: f"https://{host}/p")
)
def test_the_library_reads_the_host_that_was_judged(url: str) -> None:
    try:
        target = read_url(url, Reach.PRIVATE)
    except Invalid:
        return
    read = URL(target.url, encoded=True)
    assert (read.raw_host, read.port) == (target.host, target.port)
    assert read.raw_user is None
