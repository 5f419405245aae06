"""Which store of files a cluster has: the one place that chooses between them."""

import os
import secrets
from datetime import timedelta

from clusterra.adapters.job_files_local import LocalJobFiles
from clusterra.adapters.objects_local import LocalObjects
from clusterra.adapters.secret_file import secret_in
from clusterra.core.errors import Invalid
from clusterra.core.files.place import Location
from clusterra.core.files.retention import Retention, edited
from clusterra.ports import Clock, JobFiles, Objects
from clusterra.settings import ClusterSettings, FileSettings, Settings

MOUNT = "mnt/efs"
"""Where an embedded cluster's jobs see the files, and where below its root they lie."""


def store_of(each: ClusterSettings, settings: Settings, clock: Clock) -> Objects | None:
    """Return where a cluster's files are; None where there is no place for any."""
    match settings.files.source:
        case "local":
            return _local(each, settings, clock) if each.embedded else None
        case "s3":
            return _s3(each, settings.files, clock)
        case other:
            raise Invalid(f"The setting files.source cannot be {other!r}.", hint="Say local or s3.")


def _local(each: ClusterSettings, settings: Settings, clock: Clock) -> Objects:
    assert each.embedded is not None
    key = settings.server.state / "files.key"
    try:
        secret = secret_in(key, lambda: secrets.token_bytes(32))
        return LocalObjects(
            each.embedded.root / MOUNT,
            each.embedded.root / "files",
            path=f"/v1/objects/{each.id}",
            secret=secret,
            clock=clock,
            lasts=timedelta(minutes=settings.files.link_minutes),
            seen_at=f"/{MOUNT}",
        )
    except OSError as error:
        raise Invalid(
            f"The place for files in {each.embedded.root} cannot be made: {error.strerror}.",
            hint="Check whose that directory is, and whether there is room on its disk.",
        ) from None


def _s3(each: ClusterSettings, files: FileSettings, clock: Clock) -> Objects:
    # Brings an HTTP client, which a server without a bucket need not load.
    from clusterra.adapters.objects_s3 import S3Objects  # noqa: PLC0415
    from clusterra.adapters.objects_s3.bucket import Bucket  # noqa: PLC0415

    if not files.bucket:
        raise Invalid(
            'With files.source = "s3", files.bucket has to name the bucket.',
            hint="Add it to the settings: [files] bucket.",
        )
    bucket = Bucket(
        files.bucket,
        region=files.region,
        endpoint=files.endpoint,
        environ=os.environ,
        clock=clock,
    )
    prefix = f"{files.prefix.strip('/')}/" if files.prefix.strip("/") else ""
    return S3Objects(
        bucket,
        prefix=f"{prefix}{each.id}/",
        clock=clock,
        lasts=timedelta(minutes=files.link_minutes),
        seen_at=files.mount.rstrip("/"),
    )


def job_files_of(each: ClusterSettings) -> JobFiles | None:
    """Return what jobs leave behind, where their file system is this machine's."""
    if each.embedded is None:
        return None
    return LocalJobFiles(each.embedded.root, single_user=each.embedded.single_user)


def retention_of(files: FileSettings) -> Retention:
    """Return how long files stay until an admin says otherwise."""
    days = {each.value: getattr(files, f"{each.value}_days") for each in Location}
    return edited(Retention(), days)
