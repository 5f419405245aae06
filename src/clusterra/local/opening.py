"""What Slurm is told between the moment all its daemons are ready and the first job that starts."""

from clusterra.local.inside import Inside
from clusterra.local.plan import Command

_SETTLE = """
known() { sinfo --noheader --Node --format=%N | sort -u; }
ran=$(squeue --noheader --states=RUNNING,SUSPENDED,COMPLETING --format=%A | sort -u | paste -sd,)
if [ -n "$ran" ]; then
    scontrol update NodeName="$(known | paste -sd,)" State=DOWN Reason='the cluster was stopped' ||
        exit 1
    [ -z "$1" ] || scontrol update NodeName="$1" State=RESUME
    # Slurm lets a job wait two minutes before it tries again, in case the node was the cause.
    scontrol update JobId="$ran" StartTime=now
fi
for node in $(known); do
    case ",$1," in *",$node,"*) continue ;; esac
    scontrol update NodeName="$node" State=DOWN Reason='no longer a worker'
    scontrol delete NodeName="$node"
done
exit 0
"""


def settle(inside: Inside, workers: tuple[str, ...]) -> Command:
    """Have what ran when the cluster ended run again, and forget workers there are no more.

    Nothing of what ran is alive: it ended with the cluster. slurmctld believes so at once only
    of nodes it is told are down; of a job it had just given to a worker it waits minutes. And
    to a worker of the last start that this one does not have, it would send the next job.
    """
    return inside.shell(_SETTLE, ",".join(workers))


def open_partition(inside: Inside) -> Command:
    """Let jobs start, now that slurmctld knows what every worker runs.

    slurmctld saves the start of a job only after a while. Killed before that, it comes back
    believing the job waits, starts it a second time, and for the collision drains the worker
    and holds the job. So it comes up with its partition closed; the workers register, which
    ends what it does not know; and then the partition opens.
    """
    return inside.shell("scontrol update PartitionName=main State=UP")
