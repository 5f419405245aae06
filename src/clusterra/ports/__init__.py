"""What the control plane needs from the world.

Each protocol states promises. `tests/contracts` holds every adapter to them,
the in-memory ones included, so a test that passes in memory means something.
"""

from clusterra.ports.clock import Clock as Clock
from clusterra.ports.identity import Claims as Claims
from clusterra.ports.identity import Provider as Provider
from clusterra.ports.identity import Sealer as Sealer
from clusterra.ports.job_files import Found as Found
from clusterra.ports.job_files import JobFiles as JobFiles
from clusterra.ports.ledger import Archive as Archive
from clusterra.ports.ledger import Signer as Signer
from clusterra.ports.logins import Login as Login
from clusterra.ports.logins import Logins as Logins
from clusterra.ports.logs import Log as Log
from clusterra.ports.logs import Logs as Logs
from clusterra.ports.logs import Output as Output
from clusterra.ports.objects import Cargo as Cargo
from clusterra.ports.objects import Desk as Desk
from clusterra.ports.objects import Handout as Handout
from clusterra.ports.objects import Intake as Intake
from clusterra.ports.objects import Listing as Listing
from clusterra.ports.objects import Objects as Objects
from clusterra.ports.objects import Part as Part
from clusterra.ports.objects import Presigned as Presigned
from clusterra.ports.objects import Stored as Stored
from clusterra.ports.objects import Used as Used
from clusterra.ports.outbound import Mailer as Mailer
from clusterra.ports.outbound import Sender as Sender
from clusterra.ports.prices import PriceList as PriceList
from clusterra.ports.secrets import JwtKeys as JwtKeys
from clusterra.ports.secrets import Vault as Vault
from clusterra.ports.slurm import Slurm as Slurm
from clusterra.ports.store import Store as Store
from clusterra.ports.workers import Workers as Workers
from clusterra.ports.workers import WorkerShape as WorkerShape
