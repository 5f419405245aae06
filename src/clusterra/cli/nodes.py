"""`clusterra nodes`: the machines jobs run on."""

import click

from clusterra.cli.amounts import memory_brief
from clusterra.cli.options import json_option, pass_session, server_options
from clusterra.cli.screen import say
from clusterra.cli.seen import age_words
from clusterra.cli.session import Session
from clusterra.cli.table import Cell, Column, table
from clusterra.core.words import count
from clusterra.wire.clusters import NodePage, NodeView

COLUMNS = (
    Column("NAME", name=True),
    Column("STATE"),
    Column("CPUS", right=True),
    Column("MEMORY", right=True),
    Column("GPUS", right=True),
    Column("PARTITIONS", name=True),
    Column("FEATURES", name=True),
    Column("", note=True),
)

_STATES: dict[str, tuple[str, str, str | None]] = {
    "IDLE": ("○", "idle", "green"),
    "MIXED": ("◐", "part busy", "blue"),
    "ALLOCATED": ("●", "busy", "blue"),
    "DOWN": ("✗", "down", "red"),
    "ERROR": ("✗", "error", "red"),
    "FUTURE": ("◌", "not made yet", None),
    "UNKNOWN": ("?", "unknown", None),
}

_FLAGS: tuple[tuple[str, str, str, str], ...] = (
    ("NOT_RESPONDING", "✗", "silent", "red"),
    ("INVALID_REG", "✗", "misfit", "red"),
    ("FAIL", "✗", "failing", "red"),
    ("POWERING_UP", "◌", "starting", "yellow"),
    ("POWER_UP", "◌", "starting", "yellow"),
    ("POWERING_DOWN", "◌", "stopping", "yellow"),
    ("POWERED_DOWN", "◌", "off", "yellow"),
    ("REBOOT_ISSUED", "◌", "rebooting", "yellow"),
    ("DRAIN", "◌", "drained", "yellow"),
    ("MAINTENANCE", "◌", "maintenance", "yellow"),
)
"""What matters more than the base state, most telling first."""


@click.group()
@server_options
def nodes() -> None:
    """See the machines jobs run on."""


@nodes.command("list")
@server_options
@json_option
@pass_session
def list_nodes(session: Session, *, as_json: bool) -> None:
    """List the nodes of the cluster: used of what there is."""
    page = session.client.nodes(session.cluster_id())
    if as_json:
        session.say_answer()
        return
    if page.nodes:
        for line in table(COLUMNS, [_row(node) for node in page.nodes], session.screen):
            say(line)
    say(_footer(page))


def _row(node: NodeView) -> list[str | Cell]:
    mark, word, colour = _state(node)
    return [
        node.name,
        Cell(f"{mark} {word}", colour),
        f"{node.cpus_used}/{node.cpus}",
        f"{memory_brief(node.memory_used_mib)}/{memory_brief(node.memory_mib)}",
        f"{node.gpus_used}/{node.gpus}" if node.gpus else "–",
        ",".join(node.partitions),
        ",".join(node.features),
        Cell(node.reason, faint=True),
    ]


def _state(node: NodeView) -> tuple[str, str, str | None]:
    for flag, mark, word, colour in _FLAGS:
        if flag in node.flags:
            busy = node.cpus_used > 0 and word == "drained"
            return mark, "draining" if busy else word, colour
    return _STATES.get(node.state, ("?", node.state.lower(), None))


def _footer(page: NodePage) -> str:
    old = age_words(page)
    if not page.nodes:
        return f"No nodes. {old}." if old else "No nodes: jobs wait until one joins."
    free = sum(node.cpus - node.cpus_used for node in page.nodes if _state(node)[0] in "○◐●")
    parts = [count(len(page.nodes), "node"), f"{count(free, 'CPU')} free", old]
    return " · ".join(part for part in parts if part)
