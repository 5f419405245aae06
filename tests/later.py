"""`python -m tests.later SECONDS ARGUMENTS…`: clusterra, an hour later.

Runs the program with a clock that is ahead: for whoever looks at a real Slurm after a long absence
without the test being as long.
"""

import sys
from datetime import UTC, datetime, timedelta

from clusterra.adapters.clock import SystemClock
from clusterra.cli.main import main


def run() -> None:
    ahead = timedelta(seconds=float(sys.argv[1]))
    del sys.argv[1]
    setattr(SystemClock, "now", lambda _: datetime.now(UTC) + ahead)  # noqa: B010 - typed otherwise
    main()


if __name__ == "__main__":
    run()
