"""`clusterra files`: one's files on a cluster, where its jobs see them."""

import click

from clusterra.cli.lazy import Lazy, LazyGroup
from clusterra.cli.options import server_options

COMMANDS: dict[str, Lazy] = {
    "ls": Lazy("clusterra.cli.files.ls:list_files", "What there is."),
    "put": Lazy("clusterra.cli.files.put:put_files", "Send files; goes on where it was cut off."),
    "get": Lazy("clusterra.cli.files.get:get_files", "Fetch files; goes on where it was cut off."),
    "rm": Lazy("clusterra.cli.files.change:remove_files", "Delete files."),
    "cp": Lazy("clusterra.cli.files.change:copy_file", "Copy a file there, without sending it."),
    "mv": Lazy("clusterra.cli.files.change:move_file", "Move a file there."),
    "versions": Lazy("clusterra.cli.files.versions:list_versions", "Earlier versions of a script."),
    "usage": Lazy("clusterra.cli.files.usage:show_usage", "How much there is."),
    "retention": Lazy("clusterra.cli.files.retention:retention", "How long files stay."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS)
@server_options
def files() -> None:
    """Your files on a cluster: scripts, data and outputs are yours, shared is everybody's to read.

    Jobs find them in $CLUSTERRA_FILES.

    \b
      clusterra files put reads.fq data/run7/
      clusterra files get outputs/run7/result.bam
    """
