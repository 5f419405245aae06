"""Every setting once, with its sentence.

Settings come from a TOML file, overridden by `CLUSTERRA_<TABLE>_<KEY>` variables.
They are read once, into frozen values, and passed as arguments; nothing reads
them behind anybody's back. An unknown key stops the start and names the nearest
one that exists.
"""

import dataclasses
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from clusterra.core.errors import Invalid


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


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    issuer: str
    """Address of the identity provider, exactly as it names itself: `https://lab.okta.com`."""

    client_id: str
    """What the provider calls this server."""

    client_secret_file: Path | None = None
    """File with the secret that goes with it; a public client has none."""

    name: str = ""
    """What people call the provider; its host name if left out."""

    scopes: tuple[str, ...] = ("openid", "email", "profile")
    """What the provider is asked for; some want `groups` here before they tell them."""

    groups_claim: str = "groups"
    """Where in the ID token somebody's groups are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSettings:
    id: str
    """Short name in URLs; also the Slurm account of its people."""

    name: str = ""
    """What people call it; the id if left out."""

    domains: tuple[str, ...] = ()
    """E-mail domains whose people are in it without being invited. Only with a provider."""

    domain_role: str = "member"
    """What they are there."""

    groups: Mapping[str, str] = field(default_factory=dict)
    """Roles by the provider's groups: `{ "hpc-admins" = "admin" }`."""


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
class WebhookSettings:
    private: tuple[str, ...] = ()
    """Networks and hosts that are not public and that webhooks may reach all the same, as
    `10.1.0.0/16` or `ci.lab.example`. Link-local addresses only by the name of their network."""

    timeout_seconds: float = 15
    """How long one delivery may take, its answer included."""

    lease_seconds: float = 60
    """How long whoever delivers to an endpoint is the only one who does. At least five seconds
    more than a delivery may take; with less, the server does not start."""

    at_once: int = 64
    """Most deliveries under way at a time. A third is kept for first tries."""

    keep_days: int = 30
    """How long it is kept what was delivered, and what could not be and may be replayed."""

    key: Path | None = None
    """File with the key that secrets are locked with; made if it is missing. `webhooks.key` in the
    state directory if left out."""

    proxy: str = ""
    """Address of a proxy that deliveries go through, as `http://proxy.lab.example:3128`. Variables
    of the environment are not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSettings:
    """Only where e-mails are to be sent."""

    host: str
    """The mail server."""

    sender: str
    """Whom e-mails are from: `Clusterra <clusterra@lab.example>`."""

    port: int = 587
    """Its port: 587 and 25 begin in the open and change to TLS, 465 begins with it."""

    user: str = ""
    """Whom to sign in as; empty signs in as nobody."""

    password_file: Path | None = None
    """File with the password."""

    security: str = "starttls"
    """`starttls`, `tls`, or `none` for a mail server on this machine."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    server: ServerSettings = field(default_factory=ServerSettings)
    slurm: SlurmSettings = field(default_factory=SlurmSettings)
    ledger: LedgerSettings = field(default_factory=LedgerSettings)
    prices: PriceSettings = field(default_factory=PriceSettings)
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
    jobs: JobSettings = field(default_factory=JobSettings)
    templates: TemplateSettings = field(default_factory=TemplateSettings)
    files: FileSettings = field(default_factory=FileSettings)
    mail: MailSettings | None = None
    oidc: OidcSettings | None = None
    workspaces: tuple[WorkspaceSettings, ...] = ()
    clusters: tuple[ClusterSettings, ...] = ()


def load(file: Path | None, environ: Mapping[str, str]) -> Settings:
    """Read the file, then let variables override it."""
    try:
        table = {} if file is None else tomllib.loads(file.read_text())
    except OSError as error:
        raise Invalid(
            f"The settings file {file} cannot be read: {error.strerror}.",
            hint="Check the path given to --settings.",
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise Invalid(
            f"The settings file {file} is not TOML: {error}.", hint="Mend that line and try again."
        ) from None
    for name, section in tables(Settings):
        for key in dataclasses.fields(section):
            variable = f"CLUSTERRA_{name}_{key.name}".upper()
            if variable in environ:
                table.setdefault(name, {})[key.name] = environ[variable]
    return build(Settings, table)


def tables(of: type, *, repeated: bool = False) -> Iterator[tuple[str, type[Any]]]:
    """Return the tables below one, by name: those that stand once, or those that may be repeated."""
    for name, hint in typing.get_type_hints(of).items():
        if (typing.get_origin(hint) is tuple) is repeated:
            for arm in typing.get_args(hint) or (hint,):
                if dataclasses.is_dataclass(arm):
                    yield name, typing.cast("type[Any]", arm)


T = TypeVar("T")


def build(into: type[T], table: Mapping[str, Any], at: str = "") -> T:
    """Make a settings value of a TOML table, or say which key is wrong."""
    assert dataclasses.is_dataclass(into)
    fields = {each.name: each for each in dataclasses.fields(into)}
    hints = typing.get_type_hints(into)
    for key in table:
        if key not in fields:
            near = get_close_matches(key, fields, n=1)
            raise Invalid(
                f"There is no setting {at}{key}.",
                hint=f"Did you mean {at}{near[0]}?"
                if near
                else f"The settings here are: {', '.join(fields)}.",
            )
    values = {key: _convert(hints[key], value, f"{at}{key}") for key, value in table.items()}
    for name, each in fields.items():
        required = each.default is each.default_factory is dataclasses.MISSING
        if name not in values and required:
            raise Invalid(
                f"The setting {at}{name} is missing.", hint="Add it to the settings file."
            )
    return typing.cast("T", into(**values))


_WORDS: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Path: "a path",
}


def _convert(hint: Any, value: Any, at: str) -> Any:
    if isinstance(hint, types.UnionType):
        hint = next(arm for arm in typing.get_args(hint) if arm is not types.NoneType)
    if dataclasses.is_dataclass(hint):
        return build(typing.cast("type[Any]", hint), value, f"{at}.")
    if typing.get_origin(hint) is Mapping:
        return {str(key): str(each) for key, each in value.items()}
    if typing.get_origin(hint) is tuple:
        arm = typing.get_args(hint)[0]
        if isinstance(value, str):  # from a variable
            value = value.replace(",", " ").split()
        return tuple(_convert(arm, each, f"{at}[{n}]") for n, each in enumerate(value))
    try:
        if hint is bool:
            return value if isinstance(value, bool) else {"true": True, "false": False}[value]
        return hint(value)
    except (TypeError, ValueError, KeyError):
        raise Invalid(
            f"The setting {at} cannot be {value!r}.", hint=f"It is {_WORDS.get(hint, 'text')}."
        ) from None
