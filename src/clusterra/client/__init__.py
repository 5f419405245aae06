"""Our own API, typed, for everything that is not the server.

Synchronous and made of the standard library and msgspec: what a person feels
before `clusterra jobs list` prints is mostly imports.
"""
