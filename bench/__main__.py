"""`python -m bench [name]`: measure, print one line per figure, write bench/report.json.

    name  ours  beside  ratio  goal  met|short

A capability adds its figures to the table below.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure, Row
from bench.figures import (
    decode,
    deliver,
    door,
    files,
    hostile,
    ingest,
    ledger,
    listing,
    live,
    logs,
    memory,
    meter,
    plan,
    scaling,
    start,
    streams,
    submit,
    templates,
    terminal,
    usage,
    viewers,
)
from bench.processes import stoppable
from bench.stage import Stage

REPORT = Path(__file__).with_name("report.json")

# What needs the fifty thousand jobs comes first, while their first sync is fresh; building a
# root file system, which keeps the whole machine busy, comes last.
FIGURES = (
    Figure(rows=("decode",), measure=decode.decode),
    Figure(rows=("auth-token", "auth-session"), measure=door.door),
    Figure(rows=("files-put", "files-get"), measure=files.files),
    Figure(rows=("plan-10k", "plan-100k"), measure=plan.speed),
    Figure(rows=("plan-cost", "plan-cost-worst"), measure=plan.cost),
    Figure(rows=("ledger-chain", "ledger-verify"), measure=ledger.chain),
    Figure(rows=("array-10k",), measure=ledger.array),
    Figure(rows=("meter-10k", "meter-10k-cold"), measure=meter.meter),
    Figure(rows=("usage-month", "usage-month-zone"), measure=usage.month),
    Figure(rows=("memory-50k", "memory-first-sync", "first-sync"), measure=memory.memory),
    Figure(rows=("list-page", "list-bytes"), measure=listing.first_page),
    Figure(rows=("search",), measure=listing.search),
    Figure(rows=("viewers",), measure=viewers.viewers),
    Figure(rows=("cli-list",), measure=terminal.cli_list),
    Figure(rows=("template-render",), measure=templates.rendering),
    Figure(rows=("template-list",), measure=templates.listing),
    Figure(rows=("idle-bytes",), measure=viewers.idle),
    Figure(rows=("sse-1000",), measure=streams.streams),
    Figure(rows=("log-whole", "log-stream", "log-events"), measure=logs.whole),
    Figure(rows=("log-500",), measure=logs.live),
    Figure(rows=("log-first-byte", "log-tail-10g"), measure=logs.soon),
    Figure(rows=("deliver-latency", "deliver-latency-p99"), measure=deliver.latency),
    Figure(rows=("deliver-cpu",), measure=deliver.cpu),
    Figure(rows=("deliver-hanging",), measure=deliver.hanging),
    Figure(rows=("deliver-burst",), measure=deliver.burst),
    Figure(rows=("hostile-addresses",), measure=hostile.addresses),
    Figure(rows=("hostile-memory",), measure=hostile.memory),
    Figure(rows=("up-warm",), measure=start.warm),
    Figure(rows=("submit-latency",), measure=submit.latency),
    Figure(rows=("submit-throughput",), measure=submit.throughput),
    Figure(rows=("state-to-stream",), measure=live.live),
    Figure(rows=("hook",), measure=ingest.hook),
    Figure(rows=("ingest-noop", "ingest-group"), measure=ingest.ingest),
    Figure(
        rows=("start-cold", "start-cold-worst", "start-warm"),
        measure=scaling.starts,
    ),
    Figure(rows=("workers-200",), measure=scaling.workers),
    Figure(rows=("up-first",), measure=start.first),
)
NAMES = tuple(name for figure in FIGURES for name in figure.rows)


def measured(stage: Stage, wanted: set[str], failed: list[str]) -> Iterator[Row]:
    """Yield the rows asked for; a figure that cannot be measured does not hide the others."""
    for figure in FIGURES:
        if not wanted.intersection(figure.rows):
            continue
        try:
            for row in figure.measure(stage):
                if row.name in wanted:
                    yield row
        except Exception as error:  # noqa: BLE001 - whatever it was, the others can be measured
            failed.extend(figure.rows)
            print(f"{figure.rows[0]}: {type(error).__name__}: {error}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Clusterra.")
    parser.add_argument("name", nargs="?", choices=NAMES, help="only this figure")
    only = parser.parse_args().name
    failed: list[str] = []
    rows: list[Row] = []
    with stoppable(), Stage() as stage:
        for row in measured(stage, {only} if only else set(NAMES), failed):
            print(row.line(), flush=True)
            rows.append(row)
    REPORT.write_text(json.dumps([row.record() for row in rows], indent=1, ensure_ascii=False))
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
