"""Somebody at a provider's pages without a browser: cookies, redirects, and one form a page."""

import urllib.error
import urllib.request
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPMessage
from typing import IO, Any
from urllib.parse import urlencode, urljoin


@dataclass
class Form(HTMLParser):
    action: str = ""
    values: dict[str, str] = field(default_factory=dict)
    buttons: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By what is written on them: the name and value that each sends."""

    def __post_init__(self) -> None:
        super().__init__()
        self._button: tuple[str, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = has["action"]
        elif tag == "input":
            self.values[has["name"]] = has.get("value", "")
        elif tag == "button":
            self._button = (has.get("name", ""), has.get("value", ""))

    def handle_data(self, data: str) -> None:
        if self._button is not None:
            self.buttons[data.strip()] = self._button
            self._button = None


class _Stay(urllib.request.HTTPRedirectHandler):
    """Leaves redirects to us: the last one goes to an application that need not be running."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        return None


class Visitor:
    def __init__(self, site: str) -> None:
        self._site = site
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(), _Stay()
        )

    def go(self, url: str, data: dict[str, str] | None = None) -> str:
        """Follow redirects; return the page they end at, or the address that leaves the site."""
        status, headers, text = self._ask(url, data)
        while 300 <= status < 400:
            url = urljoin(url, headers["Location"])
            if not url.startswith(f"{self._site}/"):
                return url
            status, headers, text = self._ask(url, None)
        if status != 200:
            raise AssertionError(f"{url} answers {status}: {text}")
        return text

    def press(self, button: str, page: str, **filled: str) -> str:
        """Fill in the page's form, press a button, and go where that leads."""
        form = Form()
        form.feed(page)
        if button not in form.buttons:
            raise AssertionError(f"there is no button {button!r}: {page}")
        name, value = form.buttons[button]
        sent = {**form.values, **filled, **({name: value} if name else {})}
        return self.go(urljoin(f"{self._site}/", form.action), sent)

    def _ask(self, url: str, data: dict[str, str] | None) -> tuple[int, Any, str]:
        body = None if data is None else urlencode(data).encode()
        try:
            with self._opener.open(urllib.request.Request(url, data=body), timeout=10) as reply:
                return reply.status, reply.headers, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read().decode()
