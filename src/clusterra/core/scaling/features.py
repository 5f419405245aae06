"""Whether a kind of node satisfies a constraint, as Slurm writes it.

`arm64&large`, `a10g|l4`, `(amd64|arm64)&memory`, `[rack1|rack2]`, `large*4`. All nodes that we
would start for a job are alike, so a count and a bracket, which are about a mix of nodes, ask
the same of each of them. What cannot be read is satisfied by nothing: a job that waits with a
reason is better than workers it cannot use.
"""

import re
from functools import lru_cache

_TOKEN = re.compile(r"\s*(?:(?P<word>[A-Za-z0-9_.:=/+-]+)(?:\*\d+)?|(?P<sign>[&|,()\[\]]))")
_OPENS = {"(": ")", "[": "]"}


@lru_cache(maxsize=8192)
def satisfied(constraint: str, features: frozenset[str]) -> bool:
    """Say whether a node with these features will do."""
    if not constraint:
        return True
    tokens = _tokens(constraint)
    if tokens is None:
        return False
    reading = _Reading(tokens, features)
    verdict = reading.expression()
    return verdict is True and not reading.tokens


def _tokens(constraint: str) -> list[str] | None:
    found, at, text = [], 0, constraint.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        found.append(match["word"] or match["sign"])
        at = match.end()
    return found[::-1]


class _Reading:
    """From left to right, as slurmctld does: & does not bind closer than |."""

    def __init__(self, tokens: list[str], features: frozenset[str]) -> None:
        self.tokens = tokens
        self.features = features

    def expression(self) -> bool | None:
        verdict = self._term()
        while verdict is not None and self.tokens and self.tokens[-1] in "&|,":
            sign = self.tokens.pop()
            term = self._term()
            if term is None:
                return None
            verdict = (verdict or term) if sign == "|" else (verdict and term)
        return verdict

    def _term(self) -> bool | None:
        if not self.tokens or self.tokens[-1] in "&|,)]":
            return None
        word = self.tokens.pop()
        if word not in _OPENS:
            return word in self.features
        verdict = self.expression()
        closed = bool(self.tokens) and self.tokens.pop() == _OPENS[word]
        return verdict if closed else None
