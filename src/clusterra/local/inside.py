"""How a command is run inside the root file system, with and without root."""

from dataclasses import dataclass

from clusterra.local.plan import Command
from clusterra.local.state import SLURM_UID
from clusterra.local.users import Person

PATH = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    rootfs: str
    single: Person | None
    """The only user there is, without root."""

    def __call__(self, uid: int, *command: str) -> tuple[str, ...]:
        # Both ways end in exec, so that the process we start is the daemon itself.
        if self.single is None:
            return ("chroot", f"--userspec=+{uid}:+{uid}", "--groups=", self.rootfs, *command)
        return (*as_single(self.single), f"--root={self.rootfs}", "--wd=/", *command)

    def shell(self, script: str, *arguments: str) -> Command:
        """Return a script to be run to its end, as Slurm's own user."""
        return Command(argv=self(SLURM_UID, "sh", "-c", script, "sh", *arguments), env=PATH)


def as_single(person: Person) -> tuple[str, ...]:
    return ("unshare", "--user", f"--map-user={person.uid}", f"--map-group={person.gid}")
