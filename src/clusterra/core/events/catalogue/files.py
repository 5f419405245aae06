"""What happens to people's files without their asking."""

from clusterra.core.events.fact import Fact, event


@event("files.expired")
class FilesExpired(Fact):
    """Files were deleted because they had been left alone for longer than they are kept."""

    owner: str = ""
    """E-mail of whose they were; empty for what is shared."""

    location: str
    files: int
    bytes: int
    kept_days: int
