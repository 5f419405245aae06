"""Every event there is, once.

The reference page, the JSON Schemas, the OpenAPI `webhooks` and the AsyncAPI
document are made from this file. Facts are metadata: nothing here can hold a
script, an environment value or output.
"""

from dataclasses import dataclass
from datetime import datetime

from clusterra.core.events.fact import NAMES, Fact, event

# --- jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFact(Fact):
    job_id: int
    """Slurm's id of the job; each task of an array has one of its own."""

    label: str = ""
    """The id as people write it: `41`, `43_5`, `43_[6-9]`."""

    name: str = ""
    user: str = ""
    account: str = ""
    partition: str = ""
    state: str = ""
    """Slurm's word for the state it was in then."""

    restarts: int = 0
    """How often it had been requeued."""

    array_id: int | None = None
    array_task: int | None = None
    run_id: str = ""
    """The submission through Clusterra that made it; empty for jobs submitted past us."""

    rebuilt: bool = False
    """Too short to be seen: told afterwards, from Slurm's own times."""

    observed_by: str = "slurm"
    """`slurm` for what Slurm confirmed; `hook` for what a hook said and Slurm knows nothing of."""


@event("job.submitted")
class JobSubmitted(JobFact):
    """Slurm took a job into its queue."""

    cpus: int = 0
    memory_mib: int = 0
    gpus: int = 0
    nodes_wanted: int = 0
    time_limit_minutes: int | None = None


@event("job.pending")
class JobPending(JobFact):
    """A job has been waiting for some seconds, or now waits for another reason."""

    reason: str = ""
    """Slurm's word for why: Resources, Dependency, QOSMaxCpuPerUserLimit, …"""


@event("job.allocated")
class JobAllocated(JobFact):
    """A job has its nodes and waits for them to be ready."""

    nodes: str = ""


@event("job.started")
class JobStarted(JobFact):
    """A job began to run."""

    nodes: str = ""
    cpus: int = 0
    memory_mib: int = 0
    gpus: int = 0
    waited_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded(JobFact):
    nodes: str = ""
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    """The signal that ended it, where one did."""

    started_at: datetime | None = None
    ran_seconds: int | None = None
    """None if it never ran."""


@event("job.completed")
class JobCompleted(JobEnded):
    """A job ended with exit code 0."""


@event("job.failed")
class JobFailed(JobEnded):
    """A job ended with another exit code, by a signal, or could not be started."""


@event("job.cancelled")
class JobCancelled(JobEnded):
    """A person or a policy ended a job, before or while it ran."""

    why: str = ""
    """What for, where a policy did."""


@event("job.timeout")
class JobTimeout(JobEnded):
    """A job reached its time limit and was ended."""


@event("job.out_of_memory")
class JobOutOfMemory(JobEnded):
    """A job used more memory than it had asked for and was ended."""


@event("job.node_fail")
class JobNodeFail(JobEnded):
    """A job ended because a node it ran on failed."""


@event("job.preempted")
class JobPreempted(JobEnded):
    """A job was ended to make room for a more important one."""


@event("job.lost")
class JobLost(JobEnded):
    """Slurm answers, and knows a job neither as live nor as ended."""


@event("job.requeued")
class JobRequeued(JobFact):
    """A job went back into the queue, to run again from its beginning."""

    reason: str = ""


@event("job.held")
class JobHeld(JobFact):
    """A waiting job is kept from starting."""

    reason: str = ""


@event("job.released")
class JobReleased(JobFact):
    """A held job may start again."""


@event("job.suspended")
class JobSuspended(JobFact):
    """A running job was stopped for a while."""


@event("job.resumed")
class JobResumed(JobFact):
    """A suspended job runs on."""


@event("job.time_limit_near")
class JobTimeLimitNear(JobFact):
    """A running job has a tenth of its time left, and ten minutes at most."""

    time_limit_minutes: int = 0
    ends_at: datetime | None = None


# --- what jobs cost: all amounts in whole millionths of a dollar


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeFact:
    """A time in which a job, or waste, cost the same per hour."""

    since: datetime
    until: datetime
    usd_per_hour_micros: int | None
    """None where a price was not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCostFact(JobFact):
    person: str = ""
    """Who pays: an e-mail, or the Linux user of somebody who is no person here."""

    usd_per_hour_micros: int | None = None
    """What it costs per hour; None if a price is not known. With the final cost, the last rate."""

    estimate: bool = False
    """Nobody pays it: the price is that of the machine its worker stands for."""

    why_unknown: str = ""
    """Why it is not known what it costs; empty if it is."""


@event("job.cost.estimated")
class JobCostEstimated(JobCostFact):
    """A job began to run: what it costs per hour, and in all if it takes all its time."""

    basis: tuple[str, ...] = ()
    """What was priced, and who said so: `m6i.xlarge on-demand: $0.19/h (table)`."""

    time_limit_minutes: int | None = None
    estimated_micros: int | None = None
    """Up to its time limit; None if it has none, or no price is known."""


@event("job.cost.finalized")
class JobCostFinalized(JobCostFact):
    """What a run of a job cost, or the part of it before its nodes changed. Never corrected."""

    charges: tuple[ChargeFact, ...] = ()
    seconds: int = 0
    """How long it had its nodes, suspensions left out."""

    cost_micros: int | None = None
    """What these charges come to; None if it is not known."""

    total_micros: int | None = None
    """What the whole job has cost by then, earlier runs included."""

    cpus: int = 0
    gpus: int = 0
    last: bool = True
    """False if the job goes on: it was queued again, or runs on with other nodes."""


@event("job.cost.over_estimate")
class JobCostOverEstimate(JobCostFact):
    """A running job has cost more than was estimated when it began."""

    estimated_micros: int = 0
    cost_micros: int = 0


@event("job.cost.over_quota")
class JobCostOverQuota(JobCostFact):
    """A running job will be cancelled, because whoever pays for it is over their quota."""

    cancels_at: datetime
    why: str


# --- nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFact(Fact):
    node: str = ""
    """Slurm's name of it; empty while it has none."""

    instance_id: str = ""
    """The machine behind it, where a cloud names one."""

    group: str = ""
    """The auto-scaling group, node pool or shape it belongs to."""

    reason: str = ""


@event("node.provisioning")
class NodeProvisioning(NodeFact):
    """A machine has been asked for."""


@event("node.launched")
class NodeLaunched(NodeFact):
    """The machine is running; Slurm does not know it yet."""


@event("node.registered")
class NodeRegistered(NodeFact):
    """Slurm knows the node."""

    cpus: int = 0
    memory_mib: int = 0
    gpus: int = 0


@event("node.active")
class NodeActive(NodeFact):
    """The node takes jobs, for the first time."""


@event("node.drained")
class NodeDrained(NodeFact):
    """The node takes no new jobs."""


@event("node.down")
class NodeDown(NodeFact):
    """Slurm cannot use the node."""


@event("node.resumed")
class NodeResumed(NodeFact):
    """The node takes jobs again."""


@event("node.terminated")
class NodeTerminated(NodeFact):
    """The node is gone."""


@event("node.spot_interrupted")
class NodeSpotInterrupted(NodeFact):
    """The cloud takes the machine back."""

    action: str = ""
    """What the cloud will do: terminate, stop, hibernate."""


@event("node.misclassified")
class NodeMisclassified(NodeFact):
    """A machine is not what its class says, and does not become a node."""

    instance_type: str = ""
    expected: str = ""
    """What its class says: cpu or gpu."""

    actual: str = ""


# --- the fleet


@event("fleet.resized")
class FleetResized(Fact):
    """Another number of workers is wanted, and why."""

    shape: str
    before: int
    after: int
    reason: str
    version: int = 0
    """Of the fleet that was decided on; events with the same one are one decision."""

    rule: str = ""
    """The policy's rule that decided."""

    waiting_jobs: int = 0
    """Jobs that waited for workers."""

    workers: int = 0
    """Workers there were, of all shapes, those that were starting included."""

    warming: int = 0
    usd_per_hour_micros: int | None = None
    """What the whole fleet costs after it, in millionths of a dollar; None if a price is unknown."""

    refused: tuple[str, ...] = ()
    """What else was considered, and why not."""


@event("fleet.shortage")
class FleetShortage(Fact):
    """Workers of a shape were asked for and did not come; it is left alone for a while."""

    shape: str
    why: str
    failures: int = 1
    """How many times in a row."""

    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WasteFact:
    cause: str
    """`warming`, `idle`, `unused`, `leaving` or `closed`."""

    micros: int
    node_seconds: int
    """Seconds of whole machines; of `unused`, of machines that were in use."""


@event("fleet.cost.wasted")
class FleetCostWasted(Fact):
    """What machines cost in an hour, or a part of one, without working. The workspace pays it."""

    since: datetime
    until: datetime
    micros: int
    """In all, in millionths of a dollar."""

    causes: tuple[WasteFact, ...] = ()
    unknown_nodes: tuple[str, ...] = ()
    """Machines whose price is not known; they are in no amount."""


@event("fleet.cost.waste_high")
class FleetCostWasteHigh(Fact):
    """More than an admin wants was paid in a day for machines that did nothing."""

    period: str
    """The day."""

    micros: int
    limit_micros: int


# --- clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStateFact(Fact):
    instance_id: str = ""
    """The head node, where a cloud names one."""


@event("cluster.state.starting")
class ClusterStarting(ClusterStateFact):
    """The head node is being started."""


@event("cluster.state.started")
class ClusterStarted(ClusterStateFact):
    """The cluster was started."""


@event("cluster.state.stopping")
class ClusterStopping(ClusterStateFact):
    """The head node is being stopped."""


@event("cluster.state.stopped")
class ClusterStopped(ClusterStateFact):
    """The cluster was stopped in an orderly way."""


@event("cluster.connected")
class ClusterConnected(Fact):
    """The cluster was seen for the first time. Its ledger begins here."""

    slurm_version: str
    api_version: str


@event("cluster.unreachable")
class ClusterUnreachable(Fact):
    """Slurm, or the agent, has not been heard for a while; nothing is concluded from that."""

    why: str
    part: str = "slurm"
    """Who is not heard: `slurm`, or the `agent` that looks after the workers."""


@event("cluster.recovered")
class ClusterRecovered(Fact):
    """Slurm, or the agent, is heard again; what happened meanwhile follows."""

    unseen_seconds: int
    part: str = "slurm"


@event("cluster.notice")
class ClusterNotice(Fact):
    """The cloud said something about the cluster that has no event of its own."""

    name: str
    instance_id: str = ""


# --- people


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInFact(Fact):
    email: str
    address: str = ""
    """Where they came from."""

    agent: str = ""
    """What they came with: a browser, `clusterra/0.1.0`."""

    how: str = ""
    """`oidc`, `link` or `device`."""


@event("user.login")
class UserLogin(SignInFact):
    """A person signed in."""


@event("user.login_failed")
class UserLoginFailed(SignInFact):
    """Somebody tried to sign in and was refused."""

    why: str = ""
    """The code of the refusal: `email-not-verified`, `bad-nonce`, `not-invited`, …"""


@event("user.logout")
class UserLogout(SignInFact):
    """A session ended: its person signed out, or it was ended for them."""

    why: str = ""
    """Empty if they signed out; else `revoked`, `removed`, `refresh-token-reused`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessFact(Fact):
    email: str
    role: str
    workspace: str = ""
    by_rule: str = ""
    """The rule that did it, where no person did: `domain lab.example`, `group hpc-admins`."""

    address: str = ""
    agent: str = ""
    """Where whoever did it came from, and with what."""


@event("user.access.granted")
class UserAccessGranted(AccessFact):
    """A person was given a role."""

    login: str = ""
    uid: int | None = None
    """The Linux user they are wherever their jobs run."""


@event("user.access.revoked")
class UserAccessRevoked(AccessFact):
    """A role was taken from a person. Their jobs go on; they can submit no more."""

    left_live: int = 0
    """Their jobs that were waiting or running then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaFact(Fact):
    user: str
    """Whose: an e-mail; empty if it is the whole workspace's."""

    used: str
    limit: str
    """In dollars: `41.20`."""

    currency: str
    period: str
    """`2026-11`, `2026-11-16`."""

    workspace: str = ""
    mode: str = ""
    """What follows: `observe`, `warn`, `block` or `block_and_kill`."""


@event("user.quota.high")
class UserQuotaHigh(QuotaFact):
    """A person, or a workspace, has spent four fifths of what they may."""


@event("user.quota.exceeded")
class UserQuotaExceeded(QuotaFact):
    """A person, or a workspace, has spent all that they may."""


@event("user.cost.unusual")
class UserCostUnusual(Fact):
    """A person, or a workspace, spends three times as much today as on a usual day."""

    user: str
    """Whose: an e-mail; empty if it is the whole workspace."""

    period: str
    """The day."""

    micros: int
    usual_micros: int
    """The middle of the days before, in millionths of a dollar."""

    workspace: str = ""


# --- what administrators do


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminFact(Fact):
    id: str
    """Which one."""

    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFact(AdminFact):
    email: str = ""
    """Whose it is."""

    scopes: tuple[str, ...] = ()
    address: str = ""
    agent: str = ""


@event("admin.token.created")
class AdminTokenCreated(TokenFact):
    """A token was made."""

    expires_at: datetime | None = None


@event("admin.token.first_used")
class AdminTokenFirstUsed(TokenFact):
    """A token was used for the first time."""


@event("admin.token.revoked")
class AdminTokenRevoked(TokenFact):
    """A token was made invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFact(AdminFact):
    cluster: str = ""
    use: str = ""
    """Who shows it: `collector` or `agent`."""

    address: str = ""
    agent: str = ""


@event("admin.key.created")
class AdminKeyCreated(KeyFact):
    """A cluster was given a key for its collector or agent."""


@event("admin.key.first_used")
class AdminKeyFirstUsed(KeyFact):
    """A cluster's key was used for the first time."""


@event("admin.key.revoked")
class AdminKeyRevoked(KeyFact):
    """A cluster's key was made invalid."""


@event("admin.workspace.changed")
class AdminWorkspaceChanged(AdminFact):
    """A workspace's settings were changed."""

    address: str = ""
    agent: str = ""
    before: str = ""
    after: str = ""


@event("admin.cluster.added")
class AdminClusterAdded(AdminFact):
    """A cluster was registered."""

    slurm: str = ""
    """Address of its slurmrestd."""


@event("admin.cluster.removed")
class AdminClusterRemoved(AdminFact):
    """A cluster is no longer looked after; its ledger is kept."""


@event("admin.policy.changed")
class AdminPolicyChanged(AdminFact):
    """How a cluster's fleet may grow and shrink was changed."""

    cluster: str = ""
    changed: tuple[str, ...] = ()
    """Each as `name: before → after`."""


@event("admin.webhook.created")
class AdminWebhookCreated(AdminFact):
    """A webhook was made."""


@event("admin.webhook.changed")
class AdminWebhookChanged(AdminFact):
    """A webhook was changed, paused or resumed."""


@event("admin.webhook.deleted")
class AdminWebhookDeleted(AdminFact):
    """A webhook was taken away."""


@event("admin.webhook.secret_rotated")
class AdminWebhookSecretRotated(AdminFact):
    """A webhook was given a new secret; the old one is signed with too, for a while."""

    old_until: datetime | None = None


@event("admin.automation.created")
class AdminAutomationCreated(AdminFact):
    """An automation was made."""


@event("admin.automation.changed")
class AdminAutomationChanged(AdminFact):
    """An automation was changed, turned on or off."""

    changed: tuple[str, ...] = ()


@event("admin.automation.deleted")
class AdminAutomationDeleted(AdminFact):
    """An automation was taken away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminQuotaFact(AdminFact):
    workspace: str = ""
    email: str = ""
    """Whose; empty if it is the whole workspace's."""

    why: str = ""
    """What the admin said for a reason."""


@event("admin.quota.changed")
class AdminQuotaChanged(AdminQuotaFact):
    """A person's or a workspace's limit was set, changed or lifted."""

    changed: tuple[str, ...] = ()
    """Each as `month: $300.00 → $400.00`."""


@event("admin.quota.raised")
class AdminQuotaRaised(AdminQuotaFact):
    """More was allowed for a while, on top of a limit; or that was ended."""

    micros: int = 0
    """How much; 0 ends it."""

    until: datetime | None = None


@event("admin.prices.changed")
class AdminPricesChanged(AdminFact):
    """What a cluster's machines are said to cost was changed."""

    cluster: str = ""
    changed: tuple[str, ...] = ()


@event("admin.template.changed")
class AdminTemplateChanged(AdminFact):
    """A job template was added, changed or taken away."""


# --- webhooks and automations


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookFact(Fact):
    id: str
    """Which webhook: `whk_…`."""

    name: str = ""
    why: str = ""


@event("webhook.failing")
class WebhookFailing(WebhookFact):
    """A webhook has not been reached for a while; told again as it comes nearer to being disabled."""

    failures: int = 0
    """In a row."""

    percent: int = 0
    """How far it is on the way to being disabled."""


@event("webhook.recovered")
class WebhookRecovered(WebhookFact):
    """A webhook that failed was reached again."""

    failures: int = 0


@event("webhook.disabled")
class WebhookDisabled(WebhookFact):
    """A webhook said that it is gone, or failed for days. What happens meanwhile is kept."""


@event("webhook.delivery.dead")
class WebhookDeliveryDead(WebhookFact):
    """An event could not be told, and is tried no more. It can be replayed."""

    event_id: str = ""
    event_type: str = ""
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationFact(Fact):
    id: str
    """Which automation: `aut_…`; empty for what was said with a submission (`then`)."""

    name: str = ""
    firing: str = ""
    cause: str = ""
    """Id of the event that it answers."""

    cause_type: str = ""
    action: str = ""
    """`notify`, `submit`, `call`, `requeue` or `retry`."""

    job_id: int | None = None
    """The job that the cause is about."""

    run_id: str = ""
    user: str = ""
    """Whose job that is. They may read it."""


@event("automation.fired")
class AutomationFired(AutomationFact):
    """An automation did what it is there for."""

    made_job_id: int | None = None
    """The job that it submitted."""

    made_run_id: str = ""
    changed: tuple[str, ...] = ()
    """What is different from the job that it answers, each as `memory: 1 GiB → 1.5 GiB`."""


@event("automation.refused")
class AutomationRefused(AutomationFact):
    """An automation should have acted and could not."""

    code: str = ""
    why: str = ""


@event("automation.stopped")
class AutomationStopped(AutomationFact):
    """An automation did not act, because it has done so often enough, or would answer itself."""

    why: str = ""


# --- the collector


@event("collector.gap")
class CollectorGap(Fact):
    """What hooks said could not be kept; observation fills in what it can."""

    lost: int
    since: datetime
    until: datetime
    why: str


@event("collector.tested")
class CollectorTested(Fact):
    """A hook's installer tried whether its events arrive."""

    user: str = ""


CATALOGUE = dict(NAMES)
