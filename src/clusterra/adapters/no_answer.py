"""Why somebody asked over HTTP did not answer, in words."""

import aiohttp


def why(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not one that this server trusts"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name is not known here"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "nobody listens there"
    return "the connection broke"
