"""What runs in an embedded cluster, as data: the order, the command, the sign of being ready.

The guard knows nothing about Slurm. It gets this plan, starts one stage after
the other, keeps each daemon running and stops the stages in reverse.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from clusterra.local.slurm_conf import Slurm, node_conf, worker_memory_mib
from clusterra.local.state import SLURM_UID, SLURMREST_UID, State
from clusterra.local.tcp import PLANE, Ports
from clusterra.local.users import Person

CTLD, DBD, RESTD, SLURMD = "slurmctld", "slurmdbd", "slurmrestd", "slurmd"
MARIADB = "mariadbd"
DATABASE_MADE = ".made"
"""A file in the database's directory, written last when the database was first made."""

_MAKE_DATABASE = f"""
cd /var/lib/mysql
[ -e {DATABASE_MADE} ] || {{
    rm -rf ./*
    mariadb-install-db --no-defaults --force --datadir=/var/lib/mysql --skip-test-db \\
        --auth-root-authentication-method=socket --innodb-log-file-size=32M &&
    touch {DATABASE_MADE}
}} || exit
exec mariadbd "$@"
"""

_START_CTLD = """
[ -e /var/lib/slurm/ctld/assoc_usage ] || ignore_missing=-i
exec slurmctld -D $ignore_missing
"""
"""slurmctld writes this file when it is stopped or after five minutes. Killed before that, it
would not start again because of what it never wrote; the jobs, which it does save, it recovers."""

_PATH = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Something that is run to its end, as a question or as one act."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    name: str
    argv: tuple[str, ...]
    log: str
    ready: str
    """Where it answers once it is ready: tcp://, http:// or unix:// (a path on the host), or
    file:// for one that listens nowhere and leaves a file."""
    also: Command | None = None
    """What has to succeed as well before it counts as ready."""
    follows: str = ""
    """The daemon whose crash it does not outlive: it is ended, and started when that one is back."""
    only_first: tuple[str, ...] = ()
    """Arguments of the first start that a restart after a crash leaves out."""
    env: Mapping[str, str] = field(default_factory=dict)
    patience: float = 60
    """Seconds it may take to become ready before the start is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    title: str
    """What a person calls it; stages of one title are told about together."""
    daemons: tuple[Daemon, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    source: str
    target: str
    recursive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    rootfs: str
    mounts: tuple[Mount, ...]
    stages: tuple[Stage, ...]
    settling: Command | None = None
    """What to do once, when everything is ready for the first time."""
    opening: Command | None = None
    """What to do when everything is ready, at first and again after a followed daemon crashed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """How to run something in the root file system."""

    rootfs: str
    single: Person | None

    def __call__(self, uid: int, *command: str) -> tuple[str, ...]:
        # Both ways end in exec, so that the process we start is the daemon itself.
        if self.single is None:
            return ("chroot", f"--userspec=+{uid}:+{uid}", "--groups=", self.rootfs, *command)
        return (*as_single(self.single), f"--root={self.rootfs}", "--wd=/", *command)


def as_single(person: Person) -> tuple[str, ...]:
    return ("unshare", "--user", f"--map-user={person.uid}", f"--map-group={person.gid}")


OVER_ROOTFS = (
    ("etc/passwd", "etc/passwd"),
    ("etc/group", "etc/group"),
    ("etc/hosts", "etc/hosts"),
    ("etc/slurm", "etc/slurm"),
    ("home", "home"),
    ("run", "run"),
    ("tmp", "tmp"),
    ("tmp", "var/tmp"),
    ("var/lib/slurm", "var/lib/slurm"),
    ("var/lib/mysql", "var/lib/mysql"),
    ("var/log/slurm", "var/log/slurm"),
)
"""What of a state directory lies over which path of the root file system."""


def mounts(state: State, rootfs: str) -> tuple[Mount, ...]:
    return (
        *(
            Mount(source=str(state.path / ours), target=f"{rootfs}/{theirs}")
            for ours, theirs in OVER_ROOTFS
        ),
        Mount(source="/proc", target=f"{rootfs}/proc", recursive=True),
        Mount(source="/dev", target=f"{rootfs}/dev", recursive=True),
    )


def worker_names(count: int) -> tuple[str, ...]:
    return tuple(f"w{number}" for number in range(1, count + 1))


def plan(
    state: State,
    rootfs: str,
    slurm: Slurm,
    ports: Ports,
    *,
    workers: int,
    environ: Mapping[str, str],
) -> Plan:
    inside = Inside(rootfs=rootfs, single=slurm.single)
    title = "database, accounting, controller, REST"
    stages = [
        Stage(title=title, daemons=(_mariadb(state, inside),)),
        Stage(title=title, daemons=(_slurmdbd(state, inside, ports),)),
        Stage(title=title, daemons=(_slurmctld(state, inside, slurm, ports),)),
        Stage(title=title, daemons=(_slurmrestd(state, inside, ports),)),
        Stage(
            title="control plane",
            daemons=(
                _control_plane(state, slurm, ports, environ),
                *((_collector(state, slurm, ports, environ),) if slurm.hooks else ()),
            ),
        ),
    ]
    if workers:
        daemons = tuple(
            _slurmd(state, inside, name, ports[name], workers) for name in worker_names(workers)
        )
        stages.append(Stage(title=f"{workers} worker{'s' if workers > 1 else ''}", daemons=daemons))
    return Plan(
        rootfs=rootfs,
        mounts=mounts(state, rootfs),
        stages=tuple(stages),
        settling=_settle(inside, worker_names(workers)),
        opening=_open_partition(inside),
    )


def _mariadb(state: State, inside: Inside) -> Daemon:
    return Daemon(
        name=MARIADB,
        argv=inside(
            SLURM_UID,
            *("sh", "-c", _MAKE_DATABASE, "sh"),
            "--no-defaults",
            "--datadir=/var/lib/mysql",
            "--socket=/run/mysqld/mysqld.sock",
            "--init-file=/etc/slurm/database.sql",
            "--skip-networking",
            "--skip-log-bin",
            "--performance-schema=OFF",
            # On by default since 11.6; slurmdbd then dies of a write conflict.
            "--loose-innodb-snapshot-isolation=OFF",
            "--innodb-buffer-pool-size=64M",
            "--innodb-log-file-size=32M",
            "--innodb-lock-wait-timeout=900",
            "--innodb-flush-log-at-trx-commit=2",
        ),
        env=_PATH,
        log=str(state.log(MARIADB)),
        ready=f"unix://{state.path}/run/mysqld/mysqld.sock",
    )


def _slurmdbd(state: State, inside: Inside, ports: Ports) -> Daemon:
    return Daemon(
        name=DBD,
        argv=inside(SLURM_UID, "slurmdbd", "-D"),
        env=_PATH,
        log=str(state.log(DBD)),
        ready=f"tcp://127.0.0.1:{ports[DBD]}",
    )


def _slurmctld(state: State, inside: Inside, slurm: Slurm, ports: Ports) -> Daemon:
    # Up to 24.11 an open port is all it shows, and an account made before the cluster has
    # registered with accounting is silently not made: so ask accounting whether it has.
    registered = "sacctmgr --noheader --parsable2 show cluster format=controlport | grep -q '[1-9]'"
    return Daemon(
        name=CTLD,
        argv=inside(SLURM_UID, "sh", "-c", _START_CTLD),
        env=_PATH,
        log=str(state.log(CTLD)),
        ready=f"http://127.0.0.1:{ports[CTLD]}/readyz"
        if slurm.speaks_http
        else f"tcp://127.0.0.1:{ports[CTLD]}",
        also=None if slurm.speaks_http else _asked(inside, registered),
    )


def _slurmrestd(state: State, inside: Inside, ports: Ports) -> Daemon:
    return Daemon(
        name=RESTD,
        argv=inside(
            SLURMREST_UID,
            "slurmrestd",
            *("-f", "/etc/slurm/slurm-restd.conf"),
            *("-a", "rest_auth/jwt"),
            *("-s", "openapi/slurmctld,openapi/slurmdbd"),
            *("-t", "4"),
            *("--max-connections", "124"),
            f"127.0.0.1:{ports[RESTD]}",
        ),
        env={
            **_PATH,
            "SLURM_JWT": "daemon",
            "SLURMRESTD_JSON": "compact",
            # Each of its threads would otherwise keep the memory of the longest list it sent.
            "MALLOC_ARENA_MAX": "2",
        },
        log=str(state.log(RESTD)),
        ready=f"tcp://127.0.0.1:{ports[RESTD]}",
    )


def _control_plane(state: State, slurm: Slurm, ports: Ports, environ: Mapping[str, str]) -> Daemon:
    serve = (sys.executable, "-m", "clusterra", "serve", "--settings", str(state.settings))
    # Without root the guard is root of its own namespace; the control plane is not to think
    # that it is root too.
    return Daemon(
        name="control-plane",
        argv=serve if slurm.single is None else (*as_single(slurm.single), *serve),
        # `up` decides where it listens and what it keeps; a stray variable must not.
        env={k: v for k, v in environ.items() if not k.startswith("CLUSTERRA_SERVER_")},
        log=str(state.log("control-plane")),
        ready=f"http://127.0.0.1:{ports[PLANE]}/readyz",
    )


def _collector(state: State, slurm: Slurm, ports: Ports, environ: Mapping[str, str]) -> Daemon:
    ready = state.path / "run" / "collector.ready"
    collect = (
        *(sys.executable, "-m", "clusterra", "collect"),
        *("--spool", str(state.spool)),
        *("--url", f"http://127.0.0.1:{ports[PLANE]}"),
        *("--cluster", slurm.cluster),
        *("--key-file", str(state.collector_key(slurm.cluster))),
        *("--ready-file", str(ready)),
    )
    return Daemon(
        name="collector",
        argv=collect if slurm.single is None else (*as_single(slurm.single), *collect),
        env=dict(environ),
        log=str(state.log("collector")),
        ready=f"file://{ready}",
    )


def _slurmd(state: State, inside: Inside, name: str, port: int, workers: int) -> Daemon:
    memory_mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    conf = node_conf(
        port=port,
        cpus=os.cpu_count() or 1,
        memory_mib=worker_memory_mib(memory_mib, workers),
    )
    return Daemon(
        name=name,
        argv=inside(
            0,
            *("slurmd", "-D", "-f", "/etc/slurm/slurm-node.conf"),
            *("-Z", "-N", name, "--conf", conf),
        ),
        # "The machine was rebooted": what slurmctld believes to run here does not, run it again.
        # After a crash of slurmd alone the jobs live on and are found again.
        only_first=("-b",),
        follows=CTLD,
        env=_PATH,
        log=str(state.log(name)),
        ready=f"tcp://127.0.0.1:{port}",
        # Known to slurmctld only from the moment it has registered.
        also=_asked(inside, f"scontrol --oneliner show node {name} | grep -q SlurmdStartTime=2"),
    )


def _asked(inside: Inside, shell: str) -> Command:
    return Command(argv=inside(SLURM_UID, "sh", "-c", shell), env=_PATH)


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


def _settle(inside: Inside, workers: tuple[str, ...]) -> Command:
    """Have what ran when the cluster ended run again, and forget workers there are no more.

    Nothing of what ran is alive: it ended with the cluster. slurmctld believes so at once only
    of nodes it is told are down; of a job it had just given to a worker it waits minutes. And
    to a worker of the last start that this one does not have, it would send the next job.
    """
    argv = inside(SLURM_UID, "sh", "-c", _SETTLE, "sh", ",".join(workers))
    return Command(argv=argv, env=_PATH)


def _open_partition(inside: Inside) -> Command:
    """Let jobs start, now that slurmctld knows what every worker runs.

    slurmctld saves the start of a job only after a while. Killed before that, it comes back
    believing the job waits, starts it a second time, and for the collision drains the worker
    and holds the job. So it comes up with its partition closed; the workers register, which
    ends what it does not know; and then the partition opens.
    """
    return Command(
        argv=inside(SLURM_UID, "scontrol", "update", "PartitionName=main", "State=UP"), env=_PATH
    )
