"""What a server is, and what it asks of Slurm and keeps."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    host: str = "127.0.0.1"
    """Address to listen on. The default answers only this machine."""

    port: int = 8420
    """Port to listen on."""

    state: Path = Path("state")
    """Directory of the database."""

    token: Path | None = None
    """File with the token of whoever runs the server; `token` in the state directory if left
    out."""

    owner: str = ""
    """E-mail of whoever runs the server: the first owner. The Linux user, at localhost, if left
    out."""

    url: str = ""
    """Address people reach the server by, as `https://clusterra.lab.example`: it is in links and in
    what the identity provider sends people back to. The one it listens on if left out."""

    session_key: Path | None = None
    """File with the key that sessions are signed with; made if it is missing. `session.key` in the
    state directory if left out."""

    behind_proxy: bool = False
    """Take the caller's address from `X-Forwarded-For`, as a proxy in front of the server sets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSettings:
    max_calls_per_minute: int = 600
    """Most requests a minute that observing may send to one slurmrestd. Requests that a person
    makes (submit, cancel) are never held back by it."""

    timeout_seconds: float = 30
    """How long one request to slurmrestd may take."""

    connections: int = 8
    """Most requests under way to one slurmrestd at a time."""

    poll_seconds: float = 2
    """Time between two looks at the queue while something is going on."""

    idle_poll_seconds: float = 15
    """The longest time between two looks while nothing is going on."""

    history_days: int = 30
    """How far back past jobs are read from accounting when a cluster is first seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSettings:
    archive: Path | None = None
    """Directory outside the database for signed checkpoints and sealed segments; best on another
    disk. `ledger` in the state directory if left out."""

    key: Path | None = None
    """File with the key that signs checkpoints; made if it is missing. `ledger.key` in the state
    directory if left out."""

    keep_days: int = 0
    """How long events stay in the database before they are sealed into the archive. 0 is for ever."""

    segment_events: int = 10_000
    """Most events in one sealed segment, unless more were signed at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSettings:
    source: str = "table"
    """Who says what a machine costs where neither an admin nor its agent does: `table`, the list
    that comes with the program, or `aws`: AWS is asked every few hours, with the credentials that
    its own tools would find here, and the table counts for what it does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    keep_requests_days: int = 30
    """How long what was submitted (script and options, locked with the key of webhooks) is kept, so
    that it can be submitted again, by hand or by an automation. 0 keeps nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSettings:
    directory: Path | None = None
    """Where templates (YAML files, also in directories below) lie that everybody on this server
    has, beside those that come with the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    source: str = "local"
    """Where people's files are: `local`, for an embedded cluster in its own directory and for
    others nowhere, or `s3`."""

    bucket: str = ""
    """The bucket, with `s3`. Its versioning, where on, keeps earlier scripts."""

    prefix: str = ""
    """What keys in it begin with; the cluster's id follows."""

    region: str = "us-east-1"
    """Of the bucket."""

    endpoint: str = ""
    """Address of an S3 other than AWS's, as people reach it too: links lead there."""

    mount: str = ""
    """Where jobs see what is below the cluster's id in the bucket; empty where they do not."""

    link_minutes: int = 15
    """How long a link to put or get a file is good."""

    multipart_mb: int = 100
    """Files larger than this are sent in parts, and can be resumed."""

    scripts_days: int = 0
    """How long scripts stay that nobody writes to, until an admin says otherwise. 0 is until they
    are deleted. So are the next three."""

    data_days: int = 0
    """The same for what jobs read."""

    outputs_days: int = 0
    """The same for what jobs wrote."""

    shared_days: int = 0
    """The same for what is shared."""
