"""The command `clusterra`: its table of contents, and what every command has in common.

Commands are named here and imported when used. The exit code by kind of error is
decided here, once, whatever the command.
"""

import gc
import sys
from typing import Any

import click

from clusterra import __version__
from clusterra.cli.failures import complain, exit_code
from clusterra.cli.lazy import Lazy, LazyGroup
from clusterra.cli.options import SERVER_OPTIONS, server_options
from clusterra.cli.session import Session
from clusterra.core.errors import ClusterraError

COMMANDS: dict[str, Lazy] = {
    "up": Lazy("clusterra.cli.up:up", "Run Slurm and Clusterra on this machine."),
    "down": Lazy("clusterra.cli.up:down", "Stop them; everything is kept."),
    "status": Lazy("clusterra.cli.up:status", "What is running, and where."),
    "doctor": Lazy("clusterra.cli.up:doctor", "What is missing, and the line that fixes it."),
    "rootfs": Lazy("clusterra.cli.up:rootfs", "The Slurm that `up` runs: build it, or see it."),
    "serve": Lazy("clusterra.cli.serve:serve", "Run Clusterra in front of a Slurm you have."),
    "collect": Lazy("clusterra.cli.collect:collect", "Bring what Slurm's hooks say to the server."),
    "agent": Lazy("clusterra.cli.agent:agent", "Start and stop workers as a server asks for them."),
    "login": Lazy("clusterra.cli.login:login", "Sign in to a server, as yourself."),
    "logout": Lazy("clusterra.cli.login:logout", "Sign out, here and on the server."),
    "whoami": Lazy("clusterra.cli.login:whoami", "Who you are to the server, and until when."),
    "run": Lazy("clusterra.cli.run:run", "Run one command as a job and wait for it."),
    "jobs": Lazy("clusterra.cli.jobs.group:jobs", "Submit, list, watch, cancel jobs."),
    "templates": Lazy("clusterra.cli.templates.group:templates", "Recipes to start jobs from."),
    "files": Lazy(
        "clusterra.cli.files.group:files", "Put files where jobs see them, and get them."
    ),
    "events": Lazy("clusterra.cli.events.group:events", "What happened, and the proof of it."),
    "webhooks": Lazy("clusterra.cli.webhooks.group:webhooks", "Tell Slack, CI and programs of it."),
    "automations": Lazy(
        "clusterra.cli.automations.group:automations", "What is done when something happens."
    ),
    "nodes": Lazy("clusterra.cli.nodes:nodes", "The machines jobs run on."),
    "fleet": Lazy("clusterra.cli.fleet.group:fleet", "The workers: which, why, at what cost."),
    "prices": Lazy("clusterra.cli.prices:prices", "What machines cost, and who says so."),
    "usage": Lazy("clusterra.cli.usage.group:usage", "What was spent: by whom, on what, when."),
    "partitions": Lazy("clusterra.cli.partitions:partitions", "The queues jobs are put into."),
    "clusters": Lazy("clusterra.cli.clusters:clusters", "The clusters of this server."),
    "workspaces": Lazy("clusterra.cli.workspaces:workspaces", "The workspaces you are in."),
    "people": Lazy("clusterra.cli.people:people", "Invite people, and say what they may do."),
    "tokens": Lazy("clusterra.cli.tokens:tokens", "API tokens, for scripts in your name."),
    "sessions": Lazy("clusterra.cli.tokens:sessions", "Where you are signed in."),
    "quota": Lazy("clusterra.cli.quota:quota", "What people may spend, and what is left of it."),
    "keys": Lazy("clusterra.cli.keys:keys", "What a cluster's machines report with."),
    "audit": Lazy("clusterra.cli.audit:audit", "Who did what, when, and from where."),
    "completion": Lazy("clusterra.cli.completion:completion", "Tab completion for your shell."),
}

_LOCAL = ("up", "down", "status", "doctor", "rootfs", "serve")
"""Commands with options of their own; what is said before their name becomes their default."""


class Root(LazyGroup):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ClusterraError as error:
            complain(error)
            ctx.exit(exit_code(error))
        except KeyboardInterrupt:
            ctx.exit(130)


@click.group(
    cls=Root,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="First job:  clusterra run -- hostname",
)
@click.version_option(__version__, message="clusterra %(version)s")
@server_options
@click.pass_context
def cli(context: click.Context) -> None:
    """Submit, watch and understand jobs on Slurm."""
    session = context.ensure_object(Session)
    context.call_on_close(session.close)
    said = {
        name: getattr(session, name)
        for names, _ in SERVER_OPTIONS
        if getattr(session, name := names[-1].lstrip("-").replace("-", "_"))
    }
    context.default_map = {command: dict(said) for command in _LOCAL}


def main() -> None:
    # What is imported stays to the end. Python would look through it for garbage once more
    # on its way out, and the shell would wait for that: 10 of 120 ms.
    gc.freeze()
    # A terminal that cannot show ✓ gets a question mark and not a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    cli.main(prog_name="clusterra")
