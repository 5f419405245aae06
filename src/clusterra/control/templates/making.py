"""One job of a recipe, made: rendered for whoever submits it, and composed as any job is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clusterra.control.files.rooms import VARIABLE as FILES
from clusterra.control.site import Site
from clusterra.core.access import Caller
from clusterra.core.change import NO_LEDGER, Change
from clusterra.core.jobs.artifacts import DECLARED, Declared
from clusterra.core.jobs.comment import Mark
from clusterra.core.jobs.compose import compose, wish_from
from clusterra.core.jobs.request import JobRequest
from clusterra.core.jobs.script import directives
from clusterra.core.seen import Seen
from clusterra.core.templates.launch import Launch, LaunchWish
from clusterra.core.templates.profiles import sized
from clusterra.core.templates.render import Context, Rendered, filled_value, render
from clusterra.core.templates.steps import Surroundings, preamble, surroundings
from clusterra.ports import Clock, Login, Store


@dataclass(slots=True, kw_only=True)
class Making:
    """Makes the request of one job, and remembers what came of it."""

    job: Launch
    wish: LaunchWish
    site: Site
    caller: Caller
    store: Store
    clock: Clock
    chain: str = ""
    after: tuple[int, ...] = ()
    """The jobs that it waits for."""

    around: Surroundings = field(default_factory=Surroundings)
    remarks: tuple[str, ...] = ()
    _rendered: Rendered | None = None

    def make(self, login: Login, run_id: str) -> JobRequest:
        job, files = self.job, login.variables.get(FILES) or login.home
        self.around = surroundings(job, files, self.chain)
        context = Context(
            user_email=self.caller.email or self.caller.user,
            cluster_id=self.site.cluster.id,
            run_id=run_id,
            workflow_run_id=self.chain,
            step_id=job.step_id,
            files=files,
        )
        rendered = render(
            job.template,
            context,
            params=self._filled(job.params, context),
            inputs=self._filled(job.inputs, context),
            override={**sized(job), **job.override, **self._with_dependency()},
            outputs_dir=self.around.outputs_dir,
            preamble=preamble(job, self.around),
        )
        self._rendered = rendered
        partition, remarks = self._partition(rendered)
        self.remarks = (*rendered.remarks, *remarks)
        options = dict(self.wish.options)
        options.pop("then", None)
        env = {**self.around.variables, **(options.pop("env", None) or {})}
        wish = wish_from(
            {
                "name": self._name(rendered),
                "partition": partition or None,
                **options,
                **self._dependency(),
                "env": env or None,
                "script": rendered.script,
            }
        )
        return compose(
            wish,
            home=login.home,
            user=login.name,
            run_id=run_id,
            now=self.clock.now(),
            given=login.variables,
            mark=Mark(
                template=job.template_id,
                chain=self.chain,
                step=job.step_id if self.chain else "",
            ),
        )

    async def prepare(self, run_id: str) -> None:
        """Put down what the job is to leave behind, before there is a job."""
        artifacts = self._rendered.artifacts if self._rendered else ()
        if not artifacts:
            return
        declared = Declared(
            user=self.caller.user,
            email=self.caller.email or self.caller.user,
            artifacts=artifacts,
        )
        record = await self.store.get(DECLARED, run_id, default=declared)
        await self.store.commit(NO_LEDGER, Change(puts=[replace(record, value=declared)]))

    def _filled(self, values: Mapping[str, Any], context: Context) -> Mapping[str, Any]:
        """Fill in what a step's values name of its run. A job by itself has none that do."""
        return (
            {key: filled_value(each, context) for key, each in values.items()}
            if self.chain
            else values
        )

    def _name(self, rendered: Rendered) -> str:
        if self.chain and rendered.name == self.job.template.id:
            return self.job.step_id
        return self.wish.run_name or rendered.name

    def _dependency(self) -> dict[str, str]:
        """Return what a step waits for; what was said for all of them holds for the first ones."""
        return {"dependency": f"afterok:{':'.join(map(str, self.after))}"} if self.after else {}

    def _with_dependency(self) -> dict[str, str]:
        return {"kill-on-invalid-dep": "yes"} if self.job.depends_on else {}

    def _partition(self, rendered: Rendered) -> tuple[str, tuple[str, ...]]:
        """Return where it goes instead, if the template names a queue that is not here."""
        there = self.site.sky.partitions
        named = [each.value for each in directives(rendered.script) if each.option == "partition"]
        if not named or not isinstance(there, Seen) or "partition" in self.wish.options:
            return "", ()
        wanted = str(named[-1])
        names = {each.name for each in there.value}
        if set(wanted.split(",")) <= names:
            return "", ()
        usual = next((each.name for each in there.value if each.default), "")
        if not usual:
            return "", ()
        return usual, (_elsewhere(wanted, self.site.cluster.name, usual),)


def _elsewhere(wanted: str, cluster: str, usual: str) -> str:
    return (
        f"The template asks for the partition {wanted}, which {cluster} does not have; the job goes"
        f" to {usual}."
    )
