"""What machines cost."""

from collections.abc import Collection, Mapping
from typing import Protocol

from clusterra.core.scaling.shapes import Price


class PriceList(Protocol):
    """What a cloud charges for machines, asked with the account's own credentials."""

    async def prices(self, region: str, types: Collection[str]) -> Mapping[str, Price]:
        """Return the price of each of these that is sold there; the others are left out.

        Raises Unreachable if it cannot be asked, and Refused if the credentials do not allow it.
        """
        ...

    async def close(self) -> None: ...
