"""A price list in a dict, for tests. It fails when a test says so."""

from collections.abc import Collection, Mapping

from clusterra.core.errors import ClusterraError
from clusterra.core.scaling.shapes import Price


class MemoryPrices:
    def __init__(self, sold: Mapping[str, Mapping[str, Price]]) -> None:
        """`sold`: by region, then by machine type."""
        self.sold = sold
        self.failing: ClusterraError | None = None
        """What is raised instead of an answer: Unreachable or Refused."""

    async def prices(self, region: str, types: Collection[str]) -> Mapping[str, Price]:
        if self.failing is not None:
            raise self.failing
        here = self.sold.get(region, {})
        return {each: here[each] for each in types if each in here}

    async def close(self) -> None:
        """It holds nothing."""
