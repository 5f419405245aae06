"""The part of the API about recipes, and about workflows made of them.

It is reached as `client.templates` and asks through that client, which keeps the answer.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from clusterra.client.people import Ask
from clusterra.wire.templates import (
    ImportReport,
    ImportTemplates,
    SchedulePage,
    ScheduleView,
    TemplateFile,
    TemplatePage,
    TemplateRemoved,
    TemplateRendered,
    TemplateView,
    WorkflowPage,
    WorkflowView,
)


class Templates:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def list(self, words: str = "", *, kind: str = "", workspace: str = "") -> TemplatePage:
        """Return those whose name or description has these words."""
        asked = _asking(q=words, kind=kind, workspace=workspace)
        return self._ask(TemplatePage, "GET", _at() + asked)

    def show(self, template: str, *, workspace: str = "") -> TemplateView:
        return self._ask(TemplateView, "GET", _at(template) + _asking(workspace=workspace))

    def render(
        self, template: str, wanted: Mapping[str, object], *, workspace: str = ""
    ) -> TemplateRendered:
        """Return the script it comes to: fields of `RenderTemplate`."""
        path = _at(template, "render") + _asking(workspace=workspace)
        return self._ask(TemplateRendered, "POST", path, dict(wanted))

    def validate(self, files: Sequence[TemplateFile]) -> ImportReport:
        """Say what an import would, and keep nothing."""
        return self._ask(ImportReport, "POST", _at("validate"), ImportTemplates(files=[*files]))

    def import_files(self, files: Sequence[TemplateFile], workspace: str = "") -> ImportReport:
        wanted = ImportTemplates(files=[*files], workspace=workspace or None)
        return self._ask(ImportReport, "POST", _at("import"), wanted)

    def remove(self, template: str, workspace: str = "") -> TemplateRemoved:
        return self._ask(TemplateRemoved, "DELETE", _at(template) + _asking(workspace=workspace))

    def schedules(self, cluster: str) -> SchedulePage:
        return self._ask(SchedulePage, "GET", f"/v1/clusters/{quote(cluster, safe='')}/schedules")

    def unschedule(self, cluster: str, schedule: str) -> ScheduleView:
        path = f"/v1/clusters/{quote(cluster, safe='')}/schedules/{quote(schedule, safe='')}"
        return self._ask(ScheduleView, "DELETE", path)

    def workflows(self, cluster: str, *, limit: int | None = None) -> WorkflowPage:
        path = f"/v1/clusters/{quote(cluster, safe='')}/workflows"
        return self._ask(WorkflowPage, "GET", path + (f"?limit={limit}" if limit else ""))

    def workflow(self, cluster: str, workflow: str) -> WorkflowView:
        path = f"/v1/clusters/{quote(cluster, safe='')}/workflows/{quote(workflow, safe='')}"
        return self._ask(WorkflowView, "GET", path)


def _asking(**said: str) -> str:
    asked = {name: value for name, value in said.items() if value}
    return f"?{urlencode(asked)}" if asked else ""


def _at(*more: str) -> str:
    return "/".join(("/v1/templates", *(quote(each, safe="") for each in more)))
