"""A program that stands in for slurmd: it listens on its port when a test lets it.

What happens is decided by files beside it: `answer` (everybody listens), `fail` (its
content is printed and the program ends), `stubborn` (it does not end when it is asked
to). Each call is written down in `calls`.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from clusterra.adapters.workers_local import Place

PROGRAM = """
import os, signal, socket, sys, time
here = os.path.dirname(os.path.abspath(sys.argv[0]))
def there(name):
    return os.path.exists(os.path.join(here, name))
with open(os.path.join(here, "calls"), "a") as calls:
    calls.write("\\t".join(sys.argv[1:]) + "\\n")
if there("stubborn"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if there("fail"):
    print("first line")
    sys.exit(open(os.path.join(here, "fail")).read())
offers = dict(each.split("=", 1) for each in sys.argv[-1].split())
name = sys.argv[sys.argv.index("-N") + 1]
print("hello from", name, flush=True)
while not (there("answer") or there("answer-" + name)):
    time.sleep(0.005)
door = socket.socket()
door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
door.bind(("127.0.0.1", int(offers["Port"])))
door.listen()
while True:
    door.accept()[0].close()
"""


class StandIn:
    def __init__(self, home: Path, *, first_port: int) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        program = home / "program.py"
        program.write_text(PROGRAM)
        self.place = Place(
            directory=home / "workers",
            first_port=first_port,
            launch=(sys.executable, "-SEI", str(program)),
            env={"PATH": os.environ["PATH"]},
        )

    def place_file(self) -> Path:
        place, file = self.place, self.home / "place.json"
        file.write_text(
            json.dumps(
                {
                    "directory": str(place.directory),
                    "first_port": place.first_port,
                    "launch": place.launch,
                    "env": dict(place.env),
                }
            )
        )
        return file

    def let(self, what: str, content: str = "") -> None:
        (self.home / what).write_text(content)

    def no_longer(self, what: str) -> None:
        (self.home / what).unlink(missing_ok=True)

    def calls(self) -> list[list[str]]:
        try:
            return [line.split("\t") for line in (self.home / "calls").read_text().splitlines()]
        except FileNotFoundError:
            return []

    def calls_of(self, name: str) -> list[list[str]]:
        return [call for call in self.calls() if call[call.index("-N") + 1] == name]

    def notes(self) -> Mapping[str, dict[str, object]]:
        files = self.place.directory.glob("*.json")
        return {file.stem: json.loads(file.read_bytes()) for file in files}

    def pid(self, name: str) -> int:
        return int(str(self.notes()[name]["pid"]))

    def kill(self, name: str) -> None:
        os.kill(self.pid(name), signal.SIGKILL)

    def pids(self) -> Sequence[int]:
        """Every process of this program, whoever knows of it."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(self.home / "program.py").encode() in words.split(b"\0"):
                found.append(int(entry.name))
        return found

    def end_all(self) -> None:
        """Kill every one of them, and return when they are gone."""
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:  # another agent's child, which process 1 has now
                while (Path("/proc") / str(pid)).exists():
                    time.sleep(0.005)
