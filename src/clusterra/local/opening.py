"""What Slurm is told before the first worker comes, and before the first job starts."""

from clusterra.local.inside import Inside
from clusterra.local.plan import Command

_SETTLE = """
known() { sinfo --noheader --Node --format=%N | sort -u | paste -sd,; }
nodes=$(known)
[ -n "$nodes" ] || exit 0
ran=$(squeue --noheader --states=RUNNING,SUSPENDED,COMPLETING --format=%A | sort -u | paste -sd,)
scontrol update NodeName="$nodes" State=DOWN Reason='the cluster was stopped' || exit 1
# Slurm lets a job wait two minutes before it tries again, in case the node was the cause.
[ -z "$ran" ] || scontrol update JobId="$ran" StartTime=now
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    nodes=$(known)
    [ -n "$nodes" ] || exit 0
    scontrol delete NodeName="$nodes" || sleep 0.1
done
# One that cannot be forgotten, as of a reservation, is down and gets no job.
exit 0
"""

_OPEN = """
silent() {
    scontrol --oneliner show node | grep 'SlurmdStartTime=None' | grep -qv 'State=[A-Z+]*DOWN'
}
if silent; then
    began=$(scontrol show config | sed -n 's/^BOOT_TIME *= *//p' | tr T ' ')
    [ $(($(date +%s) - $(date -d "$began" +%s))) -gt "$1" ] || exit 1
fi
scontrol update PartitionName=main State=UP
"""

PATIENCE = 30
"""Seconds after its start that slurmctld waits for a worker that does not register."""


def settle(inside: Inside) -> Command:
    """Have what ran when the cluster ended run again, and forget the workers there were.

    Nothing of what ran is alive: it ended with the cluster. slurmctld believes so at once only
    of nodes it is told are down; of a job it had just given to a worker it waits minutes. And
    to a worker of the last start that is no more, it would send the next job.
    """
    return inside.shell(_SETTLE)


def open_partition(inside: Inside) -> Command:
    """Let jobs start, if slurmctld knows what every worker runs.

    slurmctld saves the start of a job only after a while. Killed before that, it comes back
    believing the job waits, starts it a second time, and for the collision drains the worker
    and holds the job. So it comes up with its partition closed; the workers register, which
    ends what it does not know; and then the partition opens. A worker that never registers
    keeps the others waiting only for a while.
    """
    return inside.shell(_OPEN, str(PATIENCE))
