"""Files as they travel: links, lists, uploads in parts, what is used and how long it stays."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AskForLink:
    operation: str
    """`upload` (or `put`), `download` (or `get`)."""
    location: str
    """`scripts`, `data`, `outputs` or `shared`."""
    path: str
    size: int = 0
    """Bytes; for an upload."""
    sha256: str = ""
    """In hexadecimal; for an upload. May be left out for what is sent in parts."""
    content_type: str = ""
    version: str = ""
    """For a download: an earlier version of a script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkView:
    """A link to use directly, with its method and exactly its headers. For a large upload there is no
    link but an `upload_id`: ask for links to its parts, then complete it."""

    key: str
    method: str
    url: str
    headers: dict[str, str]
    expires_at: datetime
    upload_id: str = ""
    part_size: int = 0
    """Bytes of each part; the last is what is left."""
    parts: int = 0
    """How many there are."""
    size: int | None = None
    """Of what is downloaded; so are the next two."""
    sha256: str = ""
    """Empty where it is not known: a job wrote it."""
    modified_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderView:
    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    name: str
    path: str
    size: int
    modified_at: datetime
    sha256: str
    """Empty where it is not known: a job wrote it."""
    content_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePage:
    location: str
    """Empty for the list of locations."""
    path: str
    folders: list[FolderView]
    files: list[FileView]
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionView:
    version: str
    size: int
    modified_at: datetime
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionPage:
    location: str
    path: str
    versions: list[VersionView]
    """Newest first; the first is the present one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    location: str
    path: str
    version: str = ""
    """Only of what is copied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFile:
    source: FilePlace
    target: FilePlace


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanged:
    act: str
    """`copied`, `moved`, `deleted`, `uploaded` or `aborted`."""
    location: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartView:
    number: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadView:
    upload_id: str
    location: str
    path: str
    size: int
    sha256: str
    part_size: int
    parts: int
    begun_at: datetime
    expires_at: datetime
    there: list[PartView] | None = None
    """The parts that have come; only of one that is asked for alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadPage:
    uploads: list[UploadView]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartWanted:
    number: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskForParts:
    parts: list[PartWanted]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartLink:
    number: int
    method: str
    url: str
    headers: dict[str, str]
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PartLinks:
    upload_id: str
    parts: list[PartLink]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    owner: str
    """E-mail; empty for what is shared."""
    location: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUsage:
    files: int
    bytes: int
    held: list[Held]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionView:
    days: dict[str, int | None]
    """By location; null is until somebody deletes them."""
    set_by_admin: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRetention:
    days: dict[str, int | None] = field(default_factory=dict)
    """By location; null or 0 is for ever. Locations left out stay as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactView:
    """A file that a job was to leave behind, and did."""

    key: str
    """What it was declared as."""
    role: str
    name: str
    size: int
    sha256: str
    """Empty until it is kept."""
    kept: bool
    """It can be downloaded from where the next two say, by its owner."""
    location: str
    path: str
    why_not: str
    """Why it could not be kept, where it could not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactPage:
    artifacts: list[ArtifactView]
    total: int
    complete: bool
    """All that was found is kept, or cannot be."""
