"""What is to follow a job, kept before Slurm is asked to take it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clusterra.control.automation.rules import Rules
from clusterra.control.automation.whom import check_webhooks
from clusterra.control.submit import Compose, Prepare, Submitted, Submitter, nothing
from clusterra.core.access import Caller
from clusterra.core.automation.rule import RuleWish
from clusterra.core.errors import ClusterraError, Unanswered


@dataclass(slots=True, kw_only=True)
class Then:
    """What one person said with one submission."""

    rules: Rules
    wishes: Sequence[RuleWish]
    workspace: str
    owner: str
    operator: bool = False
    _run_id: str = field(default="")

    async def check(self, caller: Caller) -> None:
        """Raise, before anything is submitted, for a webhook that is not theirs."""
        for place, wish in enumerate(self.wishes):
            try:
                await check_webhooks(
                    wish, self.workspace, caller, self.owner, store=self.rules.store
                )
            except ClusterraError as error:
                error.at = f"then[{place}].{error.at}"
                raise

    async def submit(
        self,
        submitter: Submitter,
        compose: Compose,
        caller: Caller,
        *,
        body: bytes,
        key: str,
        prepared: Prepare = nothing,
    ) -> Submitted:
        """Submit a job with what is to follow it: both, or neither."""
        await self.check(caller)
        cluster = submitter.site.cluster.id

        async def prepare(run_id: str) -> None:
            self._run_id = run_id
            await self.rules.bind(
                run_id,
                self.wishes,
                cluster=cluster,
                workspace=self.workspace,
                owner=self.owner,
                operator=self.operator,
            )
            await prepared(run_id)

        try:
            return await submitter.submit(compose, caller, body=body, key=key, prepare=prepare)
        except Unanswered:
            raise  # it may be there; who asks again with the same key finds it, and this with it
        except ClusterraError:
            if self._run_id:
                await self.rules.unbind(self._run_id)
            raise
