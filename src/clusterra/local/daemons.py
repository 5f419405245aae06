"""What runs in an embedded cluster, as data: the order, the command, the sign of being ready.

The guard knows nothing about Slurm. It gets this plan, starts one stage after
the other, keeps each daemon running and stops the stages in reverse. Workers are
not in it: they come and go with the queue, and the agent starts and stops them.
"""

import sys
from collections.abc import Mapping

import msgspec

from clusterra.local.inside import PATH, Inside, as_single
from clusterra.local.mounts import mounts
from clusterra.local.opening import open_partition, settle
from clusterra.local.plan import Daemon, Plan, Stage
from clusterra.local.slurm_conf import Slurm
from clusterra.local.state import SLURM_UID, SLURMREST_UID, State
from clusterra.local.tcp import PLANE, SLURMD, Ports

CTLD, DBD, RESTD = "slurmctld", "slurmdbd", "slurmrestd"
MARIADB, AGENT = "mariadbd", "agent"
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


def plan(
    state: State,
    rootfs: str,
    slurm: Slurm,
    ports: Ports,
    *,
    agent: bool,
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
            # Before anybody can ask for a worker: one of this life may have the name of an old one.
            first=settle(inside),
            daemons=(
                _control_plane(state, slurm, ports, environ),
                *((_collector(state, slurm, ports, environ),) if slurm.hooks else ()),
            ),
        ),
    ]
    if agent:
        stages.append(Stage(title="agent", daemons=(_agent(state, slurm, ports, environ),)))
    return Plan(
        rootfs=rootfs,
        mounts=mounts(state.path, rootfs),
        stages=tuple(stages),
        opening=open_partition(inside),
        comes_back_closed=CTLD,
    )


def place(state: State, rootfs: str, slurm: Slurm, ports: Ports) -> bytes:
    """Return what the agent has to know to start a worker here."""
    inside = Inside(rootfs=rootfs, single=slurm.single)
    return msgspec.json.encode(
        {
            "launch": inside(0),
            "env": PATH,
            "directory": str(state.workers),
            "logs": str(state.log(SLURMD).parent),
            "first_port": ports[SLURMD],
            "conf": "/etc/slurm/slurm-node.conf",
        }
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
        env=PATH,
        log=str(state.log(MARIADB)),
        ready=f"unix://{state.path}/run/mysqld/mysqld.sock",
    )


def _slurmdbd(state: State, inside: Inside, ports: Ports) -> Daemon:
    return Daemon(
        name=DBD,
        argv=inside(SLURM_UID, "slurmdbd", "-D"),
        env=PATH,
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
        env=PATH,
        log=str(state.log(CTLD)),
        ready=f"http://127.0.0.1:{ports[CTLD]}/readyz"
        if slurm.speaks_http
        else f"tcp://127.0.0.1:{ports[CTLD]}",
        also=None if slurm.speaks_http else inside.shell(registered),
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
            **PATH,
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


def _agent(state: State, slurm: Slurm, ports: Ports, environ: Mapping[str, str]) -> Daemon:
    ready = state.path / "run" / "agent.ready"
    return Daemon(
        name=AGENT,
        # As root of the namespace, also without root: it starts workers inside the root file system.
        argv=(
            *(sys.executable, "-m", "clusterra", "agent"),
            *("--url", f"http://127.0.0.1:{ports[PLANE]}"),
            *("--cluster", slurm.cluster),
            *("--key-file", str(state.agent_key(slurm.cluster))),
            *("--local", str(state.place)),
            *("--host", "127.0.0.1"),
            *("--port", str(ports[AGENT])),
            *("--logs", str(state.path / "home")),
            *("--ready-file", str(ready)),
        ),
        # A slurmctld that crashed may have forgotten workers, which do not register anew by
        # themselves. The agent has each of them do so when it starts, and only then is ready.
        follows=CTLD,
        env=dict(environ),
        log=str(state.log(AGENT)),
        ready=f"file://{ready}",
    )
