"""What happens to files without anybody asking."""

from clusterra.control.plane import Plane
from clusterra.control.site import Site
from clusterra.loops.loop import Loop

TIDY_SECONDS = 3600
KEEP_SECONDS = 300


def file_loops(plane: Plane, site: Site) -> list[Loop]:
    """Delete what was kept for long enough, give up uploads that nobody completes, and keep what
    jobs leave behind."""
    if site.files is None:
        return []
    cluster = site.cluster.id

    async def tidy() -> bool:
        await plane.files.uploads.tidy(site)
        return await plane.keeping.apply(site)

    artifacts = plane.artifacts[cluster]
    keep = Loop(name=f"artifacts {cluster}", round=artifacts.keep, every=5, idle=KEEP_SECONDS)
    site.recorder.has_left = keep.wake
    return [
        Loop(name=f"files {cluster}", round=tidy, every=TIDY_SECONDS, idle=TIDY_SECONDS),
        keep,
    ]
