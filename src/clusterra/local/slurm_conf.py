"""Slurm's configuration for the embedded cluster, as text.

Every line that is not obvious carries what happens without it; all of it was
found by running Slurm 26.05 and 24.11 on one machine without munge, cgroups or
systemd.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from clusterra.core.scaling.shapes import Shape, Template, template
from clusterra.local.users import Person

TEMPLATES = 16
"""Nodes that one job can ask for while no worker is there; Slurm refuses one that wants more. Few,
because with every worker that registers it tells accounting of all of them anew: with 768, twenty
workers took 6 s to come, with 16 they take 0.7 s."""
MOST_NODES = 2048
"""Templates and workers together. slurmctld makes room for so many at its start."""
NUMBERED = 1024
"""Up to which number the workers of a shape with GPUs are told of these."""
GPU_FILE = "gpu"

HOOK = "/var/lib/slurm/clusterra/hook.sh"
"""What slurmctld calls when a job starts and when it has ended."""

_HOOKS = (f"PrologSlurmctld={HOOK}", "JobCompType=jobcomp/script", f"JobCompLoc={HOOK}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slurm:
    """What the configuration of one cluster depends on."""

    cluster: str
    version: str
    ctld_port: int
    slurmd_port: int
    dbd_port: int
    single: Person | None = None
    hooks: bool = False
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """What workers there can be."""

    @property
    def user(self) -> str:
        return self.single.name if self.single else "slurm"

    @property
    def speaks_http(self) -> bool:
        """slurmctld answers /readyz and /metrics on its own port since 25.11."""
        return tuple(map(int, self.version.split(".")[:2])) >= (25, 11)


def files(slurm: Slurm) -> dict[str, str]:
    """Return what goes into /etc/slurm, by file name."""
    return {
        "slurm.conf": slurm_conf(slurm, user=slurm.user),
        # All slurmd of a host share one socket path and now and then one dies of it;
        # jobs use slurmctld's socket, so theirs is not needed.
        "slurm-node.conf": slurm_conf(slurm, user=slurm.user) + "AuthInfo=disable_sack\n",
        # slurmrestd will not run as SlurmUser. With one uid for everything it is told
        # another name, which it uses for nothing else.
        "slurm-restd.conf": slurm_conf(slurm, user="root" if slurm.single else slurm.user),
        "slurmdbd.conf": slurmdbd_conf(slurm),
        # Without this line slurmd insists on a cgroup file system, whatever ProctrackType says.
        "cgroup.conf": "CgroupPlugin=disabled\n",
        "gres.conf": gres_conf(slurm.shapes.values()),
        **dict.fromkeys(gpu_files(slurm.shapes.values()), ""),
        "database.sql": database_sql(slurm.user),
    }


def slurm_conf(slurm: Slurm, *, user: str) -> str:
    lines = [
        f"ClusterName={slurm.cluster}",
        "SlurmctldHost=localhost(127.0.0.1)",
        f"SlurmctldPort={slurm.ctld_port}",
        f"SlurmdPort={slurm.slurmd_port}",
        f"SlurmUser={user}",
        f"SlurmdUser={slurm.user if slurm.single else 'root'}",
        "AuthType=auth/slurm",
        "CredType=cred/slurm",
        "AuthAltTypes=auth/jwt",
        "AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key",
        # Loopback only.
        "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny",
        "StateSaveLocation=/var/lib/slurm/ctld",
        "SlurmdSpoolDir=/var/lib/slurm/slurmd.%n",
        "SlurmctldPidFile=/run/slurmctld/slurmctld.pid",
        "SlurmdPidFile=/run/slurm/slurmd.%n.pid",
        # The guard keeps what daemons print, with the time on each line.
        "LogTimeFormat=iso8601,format_stderr",
        # What goes wrong at the start of a job is said by slurmstepd, and only to a file.
        "SlurmdLogFile=/var/log/slurm/%n-steps.log",
        "ProctrackType=proctrack/linuxproc",
        "MailProg=/bin/true",
        # slurm-node.conf differs on purpose.
        "DebugFlags=NO_CONF_HASH",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU_Memory",
        f"MaxNodeCount={MOST_NODES}",
        # A worker may declare more than the machine has.
        "SlurmdParameters=config_overrides",
        "SchedulerType=sched/backfill",
        # A job starts 0.2 s after it is submitted instead of 1.2 s.
        "SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=10000",
        # A worker that was killed with the machine takes up work again by itself.
        "ReturnToService=2",
        "SlurmdTimeout=30",
        # Hundreds of tasks starting on two cores take longer than the usual 10 s.
        "BatchStartTimeout=60",
        "MinJobAge=300",
        "KillWait=5",
        "MaxJobCount=100000",
        "MaxArraySize=100001",
        "JobAcctGatherType=jobacct_gather/linux",
        "JobAcctGatherFrequency=task=2",
        # The only memory limit there is without cgroups.
        "JobAcctGatherParams=OverMemoryKill",
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=127.0.0.1",
        f"AccountingStoragePort={slurm.dbd_port}",
        # Only models that are listed here are in what a job asked for and got.
        f"AccountingStorageTRES={','.join(_gpu_kinds(slurm.shapes.values()))}",
        "AccountingStorageEnforce=associations,limits,qos",
        # Without this, accounting forgets which submission of ours a job came from.
        "AccountingStoreFlags=job_comment",
        *(_HOOKS if slurm.hooks else ()),
        *(["MetricsType=metrics/openmetrics"] if slurm.speaks_http else []),
        "GresTypes=gpu",
        template_line(template(slurm.shapes)),
        # Takes jobs and starts none; opened when the workers have registered: see `opening`.
        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=DOWN DefMemPerCPU=512",
    ]
    return "".join(f"{line}\n" for line in lines)


def slurmdbd_conf(slurm: Slurm) -> str:
    lines = [
        "AuthType=auth/slurm",
        "AuthAltTypes=auth/jwt",
        "AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key",
        "DbdHost=localhost",
        f"DbdPort={slurm.dbd_port}",
        f"SlurmUser={slurm.user}",
        "PidFile=/run/slurmdbd/slurmdbd.pid",
        "LogTimeFormat=iso8601,format_stderr",
        "StorageType=accounting_storage/mysql",
        "StorageHost=localhost",
        f"StorageUser={slurm.user}",
        "StorageLoc=slurm_acct_db",
    ]
    return "".join(f"{line}\n" for line in lines)


def database_sql(user: str) -> str:
    """Return what mariadbd runs at each start: whoever runs slurmdbd gets in, without a password."""
    quoted = user.replace("\\", "\\\\").replace("'", "\\'")
    return (
        "CREATE DATABASE IF NOT EXISTS slurm_acct_db;\n"
        f"CREATE USER IF NOT EXISTS '{quoted}'@'localhost' IDENTIFIED VIA unix_socket;\n"
        f"GRANT ALL ON slurm_acct_db.* TO '{quoted}'@'localhost';\n"
    )


def template_line(most: Template) -> str:
    """Return a line of nodes that could be.

    Slurm refuses a job that no node it knows could ever hold; with these, which `sinfo` does
    not show, a job that no worker of today can hold waits instead. What none of the shapes can
    hold together, though each thing alone, is found out by us.
    """
    gres = ",".join(gres_of(model, count) for model, count in most.gpus.items())
    return (
        f"NodeName=template-[1-{TEMPLATES}] State=FUTURE "
        f"CPUs={most.cpus} RealMemory={most.memory_mib} "
        f"Feature={','.join(sorted(most.features))}" + (f" Gres={gres}" if gres else "")
    )


def _gpu_kinds(shapes: Iterable[Shape]) -> list[str]:
    models = sorted({shape.gpu_model for shape in shapes if shape.gpu_model})
    return ["gres/gpu", *(f"gres/gpu:{model}" for model in models)]


def gres_of(model: str, gpus: int) -> str:
    return f"gpu:{model}:{gpus}" if model else f"gpu:{gpus}"


def gres_conf(shapes: Iterable[Shape]) -> str:
    """Return which devices the workers of each shape have.

    Plain files stand for them: jobs are scheduled and counted all the same, and nobody needs
    root. Without a file for each, a node is drained for having fewer than it said.
    """
    lines = ["AutoDetect=off"]
    for shape in shapes:
        if shape.gpus:
            model = f" Type={shape.gpu_model}" if shape.gpu_model else ""
            files = f"/etc/slurm/{GPU_FILE}" + (f"[0-{shape.gpus - 1}]" if shape.gpus > 1 else "0")
            lines.append(f"NodeName={shape.name}-[1-{NUMBERED}] Name=gpu{model} File={files}")
    return "".join(f"{line}\n" for line in lines)


def gpu_files(shapes: Iterable[Shape]) -> list[str]:
    """Return the names of the files that stand for GPUs."""
    return [f"{GPU_FILE}{n}" for n in range(max((shape.gpus for shape in shapes), default=0))]
