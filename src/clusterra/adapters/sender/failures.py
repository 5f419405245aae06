"""Why there was no answer, in words for whoever made the endpoint."""

import errno
import ssl
from collections.abc import Iterator

import aiohttp
from aiohttp.http_exceptions import LineTooLong

from clusterra.adapters.sender.connector import EndlessInterim
from clusterra.adapters.sender.dial import Dial
from clusterra.adapters.tls_words import why_insecure
from clusterra.core.webhooks.exchange import Failure

CONNECT = 5.0
"""Seconds until a connection must stand, its TLS included."""

_PROXY = (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError)
_BROKEN = (aiohttp.ClientConnectionError, OSError)
_NO_WAY = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def failure_of(error: BaseException, dial: Dial, timeout_seconds: float) -> tuple[Failure, str]:
    """Return the kind of failure and a sentence about it."""
    if dial.stopped is not None:
        return dial.stopped.failure, dial.stopped.error.detail
    if isinstance(error, TimeoutError):
        return _late(dial, timeout_seconds)
    if dial.proxied and isinstance(error, _PROXY):
        return Failure.CONNECT, _by_proxy(error)
    lost = None if dial.handler is None else dial.handler.lost
    insecure = next(filter(_is_of_ssl, [*_chain(error), *_chain(lost)]), None)
    if isinstance(insecure, ssl.SSLError):
        return Failure.TLS, why_insecure(insecure)
    if dial.securing and not dial.ready:
        return Failure.TLS, "It broke off the TLS handshake."
    if isinstance(error, aiohttp.ClientConnectorError):
        return Failure.CONNECT, _unconnected(error.os_error, dial)
    if isinstance(error, _BROKEN) and not dial.heard:
        return Failure.CONNECT, "It ended the connection without an answer."
    if isinstance(error, aiohttp.InvalidURL | ValueError) and not dial.heard:
        return Failure.URL, "The request cannot be sent as it is written."
    return Failure.PROTOCOL, _no_http(error)


def _by_proxy(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"The proxy that deliveries go through answered {error.status}."
    return "The proxy that deliveries go through cannot be reached."


def _no_http(error: BaseException) -> str:
    for cause in _chain(error):
        if isinstance(cause, LineTooLong):
            return "Its answer has a header of more than 8 kB."
        if isinstance(cause, EndlessInterim):
            return "It announces an answer again and again, and gives none."
    if isinstance(error, _BROKEN):
        return "It ended the connection in the middle of its answer."
    return "It speaks no HTTP."


def _late(dial: Dial, timeout_seconds: float) -> tuple[Failure, str]:
    connecting = f"{min(CONNECT, timeout_seconds):g} s"
    if dial.naming and not dial.named:
        host = dial.target.host
        return Failure.DNS, f"The name {host} could not be looked up within {timeout_seconds:g} s."
    if dial.ready:
        return Failure.TIMEOUT, f"Nothing answered within {timeout_seconds:g} s."
    if dial.securing:
        return Failure.TIMEOUT, f"It did not finish the TLS handshake within {connecting}."
    return Failure.TIMEOUT, f"It did not take the connection within {connecting}."


def _unconnected(error: OSError, dial: Dial) -> str:
    where = f"{dial.target.host} on port {dial.target.port}"
    if error.errno == errno.ECONNREFUSED:
        return f"Nobody listens at {where}."
    if error.errno in _NO_WAY:
        return f"There is no way from this server to {dial.target.host}."
    return f"The connection to {where} failed."


def _is_of_ssl(error: BaseException) -> bool:
    """The library's own errors are SSLErrors too, but only by name."""
    return isinstance(error, ssl.SSLError) and not isinstance(error, aiohttp.ClientError)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
