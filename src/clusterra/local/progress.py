"""How far mmdebstrap is, from what it prints.

Some of its stages say nothing for ten seconds. In those the percentage follows
the clock, at the speed of the last build, up to just before the next stage; it
never goes back.
"""

import re
from dataclasses import dataclass

_STAGES = (
    # what mmdebstrap prints, where it begins in percent, lines per package, in words.
    # The shares are those of a build of 26 s on two cores.
    ("running apt-get update", 1, 0, "reading package lists"),
    ("downloading packages", 11, 0, "downloading the base system"),
    ("extracting archives", 15, 0, "unpacking the base system"),
    ("installing essential packages", 52, 2, "setting up the base system"),
    ("installing remaining packages", 68, 3, "installing Slurm and MariaDB"),
    ("running --customize-hook", 95, 0, "preparing the database"),
    ("cleaning package lists", 98, 0, "cleaning up"),
)
_END = 99
_PACKAGES = re.compile(r"(\d+) newly installed")
_ONE_PACKAGE = re.compile(r"(Get:\d+|Unpacking|Setting up) ")


@dataclass(slots=True, kw_only=True)
class BuildProgress:
    usually: float
    """Seconds a whole build takes, as far as known."""
    percent: int = 0
    doing: str = "preparing"
    _stage: int = -1
    _since: float = 0
    _packages: int = 0
    _lines: int = 0

    def hear(self, line: str, elapsed: float) -> None:
        for number, (begins, *_, words) in enumerate(_STAGES):
            if number > self._stage and line.startswith(f"I: {begins}"):
                self._stage, self.doing, self._since, self._lines = number, words, elapsed, 0
        if found := _PACKAGES.search(line):
            self._packages = int(found[1])
        if _ONE_PACKAGE.match(line):
            self._lines += 1
        self.pass_time(elapsed)

    def pass_time(self, elapsed: float) -> None:
        if self._stage < 0:
            return
        _, begins, per_package, _ = _STAGES[self._stage]
        ends = _STAGES[self._stage + 1][1] if self._stage + 1 < len(_STAGES) else _END
        share = ends - begins
        if expected := self._packages * per_package:
            done = self._lines / expected
        else:
            done = (elapsed - self._since) / (self.usually * share / 100)
        self.percent = max(self.percent, begins + int(share * min(max(done, 0), 0.99)))
