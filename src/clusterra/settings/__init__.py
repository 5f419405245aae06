"""Every setting once, with its sentence.

Settings come from a TOML file, overridden by `CLUSTERRA_<TABLE>_<KEY>` variables.
They are read once, into frozen values, and passed as arguments; nothing reads
them behind anybody's back. An unknown key stops the start and names the nearest
one that exists.
"""

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clusterra.core.errors import Invalid
from clusterra.settings.clusters import ClusterSettings as ClusterSettings
from clusterra.settings.clusters import EmbeddedSettings as EmbeddedSettings
from clusterra.settings.clusters import ScalingSettings as ScalingSettings
from clusterra.settings.clusters import ShapeSettings as ShapeSettings
from clusterra.settings.people import OidcSettings as OidcSettings
from clusterra.settings.people import WorkspaceSettings as WorkspaceSettings
from clusterra.settings.read import build as build
from clusterra.settings.read import tables as tables
from clusterra.settings.server import FileSettings as FileSettings
from clusterra.settings.server import JobSettings as JobSettings
from clusterra.settings.server import LedgerSettings as LedgerSettings
from clusterra.settings.server import PriceSettings as PriceSettings
from clusterra.settings.server import ServerSettings as ServerSettings
from clusterra.settings.server import SlurmSettings as SlurmSettings
from clusterra.settings.server import TemplateSettings as TemplateSettings
from clusterra.settings.telling import MailSettings as MailSettings
from clusterra.settings.telling import WebhookSettings as WebhookSettings


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
