"""The sizes that interactive recipes offer by name."""

from collections.abc import Mapping

from clusterra.core.errors import Invalid
from clusterra.core.quote import shown
from clusterra.core.templates.launch import Launch
from clusterra.core.templates.template import TemplateKind

PROFILES: Mapping[str, Mapping[str, str]] = {
    "cpu-small": {"cpus-per-task": "2", "mem": "8G"},
    "cpu-medium": {"cpus-per-task": "4", "mem": "16G"},
    "cpu-large": {"cpus-per-task": "8", "mem": "32G"},
    "gpu-a10": {"cpus-per-task": "4", "mem": "24G", "gres": "gpu:1"},
}


def sized(job: Launch) -> dict[str, str]:
    """Return the options that an interactive job's `profile` and `time_limit` stand for."""
    if job.template.kind is not TemplateKind.INTERACTIVE:
        return {}
    found: dict[str, str] = {}
    default = next((each.default for each in job.template.parameters if each.key == "profile"), "")
    profile = job.params.get("profile") or default
    # Its own options are the size of its default, and may say more than the table does.
    if profile != default:
        if profile not in PROFILES:
            raise Invalid(
                f"There is no profile {shown(profile)}.",
                hint=f"There are: {', '.join(PROFILES)}.",
                at="params.profile",
            )
        found |= PROFILES[profile]
    if limit := job.params.get("time_limit"):
        found["time"] = str(limit)
    return found
