"""Which clusters it looks after, and where their workers come from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """Only for a cluster that `clusterra up` runs itself."""

    root: Path
    """Directory that holds the cluster's /home and /etc as its jobs see them."""

    single_user: bool = False
    """Every job runs as one Linux user, because the cluster was started without root."""

    largest_cpus: int = 0
    """CPUs of the largest node there can ever be; a job that wants more is refused. 0 is not known."""

    largest_memory_mib: int = 0
    """Memory of the largest node there can ever be. 0 is not known."""

    started_at: int = 0
    """When the cluster was last started, in seconds since 1970. 0 tells nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeSettings:
    name: str
    """Of lower-case letters, digits and dashes. One that the table has is replaced."""

    vcpus: int
    """CPUs of the machine."""

    memory_gib: int
    """Memory of the machine."""

    arch: str = "amd64"
    """amd64 or arm64."""

    cpus: int = 0
    """CPUs that jobs get of it; one less than the machine has if left out."""

    memory_mib: int = 0
    """Memory that jobs get of it; 1,328 MiB less than the machine has if left out."""

    gpus: int = 0
    """GPUs of the machine."""

    gpu_model: str = ""
    """Their model, as jobs ask for it: a10g, l4, h100."""

    types: tuple[str, ...] = ()
    """Machines of the cloud that are this shape."""

    usd_per_hour: float = 0
    """What it costs; the price of the cheapest of its types if left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingSettings:
    """Only for a cluster whose workers an agent starts and stops as they are needed."""

    region: str = "us-east-1"
    """Region of the cloud whose prices count."""

    shapes: tuple[ShapeSettings, ...] = ()
    """Shapes of this cluster's own, beside those of the table or instead of them."""

    only_these: bool = False
    """There are no shapes but those listed here."""

    rule: str = "family"
    """How workers are chosen until an admin says otherwise: `family` or `cheapest`. So are the next
    six."""

    max_workers: int = 64
    """Most workers at a time."""

    max_usd_per_hour: float = 0
    """The most that all workers together may cost per hour. 0 is no limit."""

    idle_seconds: int = 120
    """How long a worker is kept that has nothing to do."""

    purchase: str = "on-demand"
    """`on-demand`, or `spot`: cheaper, and may be taken back."""

    architectures: tuple[str, ...] = ("amd64", "arm64")
    """Those that may be used, the preferred one first."""

    minimum: Mapping[str, str] = field(default_factory=dict)
    """Workers that are always kept, by shape: `{ general-small = "2" }`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    id: str
    """Short name in URLs, as `clus1a2b`."""

    slurm: str
    """Address of its slurmrestd, as `http://head:6820`."""

    jwt_key: Path
    """File with Slurm's HS256 key (`jwt_hs256.key`)."""

    name: str = ""
    """What people call it; the id if left out."""

    service_user: str = "root"
    """Slurm user in whose name the queue is observed."""

    user: str = ""
    """Linux user in whose name whoever runs the server submits; the user who runs it if left out."""

    workspace: str = ""
    """The workspace it belongs to; the first one if left out."""

    account: str = ""
    """Slurm account that people are put into before their first job; empty puts nobody anywhere."""

    home: str = "/home/{user}"
    """Where people's home directories are on that cluster."""

    collector_key: Path | None = None
    """File with the key that this cluster's collector shows; made if it is missing.
    `keys/<id>.key` in the state directory if left out."""

    agent_key: Path | None = None
    """File with the key that this cluster's agent shows; made if it is missing.
    `keys/<id>.agent.key` in the state directory if left out."""

    slurm_key: Path | None = None
    """File with the key that Slurm's daemons know each other by (`slurm.key`). Given, it is sent to
    this cluster's agent, for workers that do not have it."""

    scaling: ScalingSettings | None = None
    embedded: EmbeddedSettings | None = None
