"""Workers as slurmd processes of this machine."""

from clusterra.adapters.workers_local.place import Place as Place
from clusterra.adapters.workers_local.place import read_place as read_place
from clusterra.adapters.workers_local.workers import LocalWorkers as LocalWorkers
