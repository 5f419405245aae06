"""Every way we know of to write an address that a stranger must not reach."""

from clusterra.core.webhooks.addresses import verdict
from clusterra.core.webhooks.endpoint import Reach

ADDRESSES = (
    *("127.0.0.1", "127.0.0.53", "127.255.255.254", "0.0.0.0", "0.0.0.1", "::1", "::"),
    *("169.254.169.254", "169.254.170.2", "169.254.170.23", "fe80::1", "fe80::a9fe:a9fe"),
    *("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
    *("10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "fd12::1"),
    *("fc00::1", "fec0::1", "100.64.0.1", "100.127.255.255", "198.18.0.1", "198.19.255.255"),
    *("192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1", "192.88.99.1"),
    *("224.0.0.1", "239.255.255.250", "ff02::1", "255.255.255.255", "240.0.0.1", "100::1"),
    *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::ffff:0.0.0.0"),
    *("::127.0.0.1", "::169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
    *("64:ff9b::a00:1", "64:ff9b:1::a9fe:a9fe", "2002:7f00:1::", "2002:a9fe:a9fe::1"),
    *("2002:a00:1::", "2001:0:7f00:1::", "2001:0:4136:e378:8000:63bf:5601:5601", "2001:10::1"),
    *("2606:4700::5efe:a9fe:a9fe", "2606:4700::200:5efe:7f00:1", "4000::1", "5f00::1"),
)
"""Judged as an address in the URL, and again as what a name leads to."""

HOSTS = (
    *("2130706433", "2852039166", "0x7f000001", "0xa9fea9fe", "017700000001", "127.1", "127.0.1"),
    *("0177.0.0.1", "0251.0376.0251.0376", "0x7f.0x0.0x0.0x1", "127.0.0.1.", "0", "0x0"),
    *("127.0.0.1%00.example.com", "%31%32%37.0.0.1", "127。0。0。1", "１２７.0.0.1", "①②⑦.0.0.1"),
    *("169．254．169．254", "localhost", "LOCALHOST.", "a.localhost", "[::1%25lo]"),
    *("[fe80::1%25eth0]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:a9fe:a9fe]", "[::0xa9fea9fe]"),
    *("user@127.0.0.1", "example.com@169.254.169.254", "127.0.0.1\\@example.com"),
    *("example.com\r\nHost: 127.0.0.1", "127.0.0.1\t", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ"),
)
"""Hosts as somebody might write them into a URL."""


def kind(address: str) -> str:
    return verdict(address, Reach.PUBLIC)


def in_url(address: str) -> str:
    return f"https://[{address}]/hook" if ":" in address else f"https://{address}/hook"
