"""Start jobs from recipes: render, submit, and for a workflow one after the other.

Everything that can be refused is refused before the first job is handed over: each is rendered
and rehearsed. If Slurm then refuses one all the same, those before it are cancelled.

A step waits for those it depends on as Slurm's own dependency (`afterok`), so a workflow goes on
whatever happens to this server. A step whose upstream failed is cancelled by Slurm.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count

import structlog

from clusterra.control.automation.then import Then
from clusterra.control.site import Site
from clusterra.control.submit import Submitted, Submitter
from clusterra.control.templates.catalogue import Catalogue
from clusterra.control.templates.making import Making
from clusterra.core.access import Caller
from clusterra.core.change import NO_LEDGER, Change
from clusterra.core.errors import ClusterraError, Invalid, Unanswered
from clusterra.core.ids import uuid8
from clusterra.core.jobs.request import JobRequest
from clusterra.core.templates.launch import MAIN, Launch, LaunchWish, launches
from clusterra.core.templates.template import Template
from clusterra.core.templates.workflow import WORKFLOW, StepRun, Workflow
from clusterra.ports import Clock, Store

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    step_id: str
    template_id: str
    submitted: Submitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    steps: tuple[StepStarted, ...]
    remarks: tuple[str, ...] = ()
    workflow: Workflow | None = None


@dataclass(slots=True, kw_only=True)
class Starter:
    catalogue: Catalogue
    store: Store
    clock: Clock
    new_run_id: Callable[[], str]

    def jobs(self, wish: LaunchWish, workspace: str) -> tuple[Launch, ...]:
        """Return the jobs that a submission comes to. Raises NotFound and Invalid."""

        def find(id: str) -> Template:
            return self.catalogue.find(workspace, id).template

        return launches(wish, find)

    def schedule_of(self, wish: LaunchWish, workspace: str) -> str:
        """Return how often the template itself wants to be started; empty is once."""
        if not wish.template_id:
            return ""
        return self.catalogue.find(workspace, wish.template_id).template.schedule

    async def start(
        self,
        submitter: Submitter,
        wish: LaunchWish,
        caller: Caller,
        *,
        body: bytes,
        key: str = "",
        run_id: str = "",
        then: Then | None = None,
    ) -> Started:
        """Submit what a recipe comes to: one job, or those of a workflow."""
        jobs = self.jobs(wish, submitter.site.workspace)
        if len(jobs) == 1 and not wish.steps and jobs[0].step_id == MAIN:
            made = self._making(submitter, wish, jobs[0], caller)
            return await self._one(
                submitter, made, caller, body=body, key=key, run_id=run_id, then=then
            )
        if then is not None:
            raise Invalid(
                "What is to follow can be said of one job, and this is a workflow.",
                hint="Leave `then` out, and make an automation for the last step's job name.",
                at="then",
            )
        return await self._several(submitter, wish, jobs, caller, body=body, key=key)

    async def rehearse(
        self, submitter: Submitter, wish: LaunchWish, caller: Caller
    ) -> tuple[JobRequest, tuple[str, ...]]:
        """Return what Slurm would be handed for the first job, and what there is to say of it."""
        jobs = self.jobs(wish, submitter.site.workspace)
        making = self._making(submitter, wish, jobs[0], caller)
        asked = await submitter.rehearse(making.make, caller)
        more = (f"This is the first of {len(jobs)} jobs.",) if len(jobs) > 1 else ()
        return asked, (*more, *making.remarks)

    async def _one(
        self,
        submitter: Submitter,
        making: Making,
        caller: Caller,
        *,
        body: bytes,
        key: str,
        run_id: str,
        then: Then | None,
    ) -> Started:
        if then is not None:
            done = await then.submit(
                submitter, making.make, caller, body=body, key=key, prepared=making.prepare
            )
        else:
            done = await submitter.submit(
                making.make,
                caller,
                body=body,
                key=key,
                run_id=run_id,
                prepare=making.prepare,
            )
        job = making.job
        step = StepStarted(step_id=job.step_id, template_id=job.template_id, submitted=done)
        return Started(steps=(step,), remarks=making.remarks)

    async def _several(
        self,
        submitter: Submitter,
        wish: LaunchWish,
        jobs: tuple[Launch, ...],
        caller: Caller,
        *,
        body: bytes,
        key: str,
    ) -> Started:
        cluster = submitter.site.cluster.id
        chain = await self._chain(cluster, caller, key) if key else self.new_run_id()
        makings = [self._making(submitter, wish, job, caller, chain) for job in jobs]
        for making in makings:
            with _of_step(making.job):
                await submitter.rehearse(making.make, caller)
        workflow = Workflow(
            id=chain,
            cluster=cluster,
            user=caller.user,
            name=wish.run_name or wish.template_id or "workflow",
            at=self.clock.now(),
            template_id=wish.template_id,
            directory=makings[0].around.workflow_dir,
            steps=tuple(
                StepRun(
                    step_id=job.step_id,
                    template_id=job.template_id,
                    run_id=uuid8("step", chain, job.step_id),
                    depends_on=job.depends_on,
                    display_name=job.display_name,
                )
                for job in jobs
            ),
        )
        await self._keep(workflow)
        done: dict[str, Submitted] = {}
        for making, run in zip(makings, workflow.steps, strict=True):
            making.after = tuple(done[each].submission.job_id for each in making.job.depends_on)
            try:
                with _of_step(making.job):
                    done[run.step_id] = await submitter.submit(
                        making.make,
                        caller,
                        body=json.dumps([body.hex(), run.step_id]).encode(),
                        key=f"{chain}/{run.step_id}",
                        run_id=run.run_id,
                        prepare=making.prepare,
                    )
            except ClusterraError as error:
                # Slurm may have it, and whoever asks again with the same key goes on from there.
                if not (key and isinstance(error, Unanswered)):
                    await self._undo(submitter.site, workflow, done, caller, error)
                raise
        return Started(
            steps=tuple(
                StepStarted(
                    step_id=run.step_id,
                    template_id=run.template_id,
                    submitted=done[run.step_id],
                )
                for run in workflow.steps
            ),
            remarks=tuple(dict.fromkeys(each for making in makings for each in making.remarks)),
            workflow=workflow,
        )

    async def _chain(self, cluster: str, caller: Caller, key: str) -> str:
        """Return the workflow that a key stands for: the same for whoever repeats a request, and
        another one after it was undone."""
        for turn in count():
            chain = uuid8("workflow", cluster, caller.user, key, turn)
            there = await self.store.list(WORKFLOW, f"{cluster}/{chain}")
            if not any(each.value.undone for each in there):
                return chain
        raise AssertionError

    def _making(
        self, submitter: Submitter, wish: LaunchWish, job: Launch, caller: Caller, chain: str = ""
    ) -> Making:
        return Making(
            job=job,
            wish=wish,
            site=submitter.site,
            caller=caller,
            store=self.store,
            clock=self.clock,
            chain=chain,
        )

    async def _keep(self, workflow: Workflow) -> None:
        id = f"{workflow.cluster}/{workflow.id}"
        record = await self.store.get(WORKFLOW, id, default=workflow)
        if not record.version:
            await self.store.commit(NO_LEDGER, Change(puts=[record]))

    async def _undo(
        self,
        site: Site,
        workflow: Workflow,
        done: Mapping[str, Submitted],
        caller: Caller,
        error: ClusterraError,
    ) -> None:
        id = f"{workflow.cluster}/{workflow.id}"
        record = await self.store.get(WORKFLOW, id, default=workflow)
        undone = replace(record, value=replace(record.value, undone=True))
        await self.store.commit(NO_LEDGER, Change(puts=[undone]))
        for each in done.values():
            with suppress(ClusterraError):
                await site.slurm.cancel(each.submission.job_id, user=caller.user)
        if done:
            site.wake()
            names = ", ".join(done)
            error.detail += f" The steps before it ({names}) were cancelled."
            log.info("workflow.undone", steps=names, why=error.code)


@contextmanager
def _of_step(job: Launch) -> Iterator[None]:
    """Say of a refusal which step it is about."""
    try:
        yield
    except ClusterraError as error:
        error.detail = f"Step {job.step_id}: {error.detail}"
        error.at = f"steps.{job.step_id}.{error.at}".rstrip(".")
        raise
