"""Amounts of dollars as people type them: 12.50, $12.50, or none where that is no limit."""

import click

from clusterra.core.money import micros_of

NO_LIMIT = -1
"""What `none` becomes; no amount is below nothing."""


class Dollars(click.ParamType[int]):
    name = "dollars"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return millionths of a dollar; `none` is `NO_LIMIT`."""
        if isinstance(value, int):  # a default, or what was converted before
            return value
        text = str(value)
        if text.lower() == "none":
            return NO_LIMIT
        micros = micros_of(text)
        if micros is None:
            self.fail(f"{text!r} is no amount of dollars; write 12.50, or none.", param, ctx)
        if micros < 0:
            self.fail(f"{text!r} is less than nothing; write 12.50, or none.", param, ctx)
        return micros
