"""Slurm's 150 names for limits are read part by part."""

from pathlib import Path

import pytest

from clusterra.core.jobs.pending.limit_names import Named, command, named
from clusterra.core.limits import Holder, Limit, Measure, Per, Rule
from tests.core.pending.facts import limit

ASSOC, QOS = Holder.ASSOCIATION, Holder.QOS


def reads(code: str) -> tuple[Holder, Per | None, Measure, str, bool]:
    found = named(code)
    assert isinstance(found, Named)
    return found.holder, found.per, found.measures[0], found.resource, found.least


@pytest.mark.parametrize(
    ("code", "means"),
    [
        ("AssocGrpCpuLimit", (ASSOC, Per.GROUP, Measure.AT_ONCE, "cpu", False)),
        ("AssocGrpCPURunMinutesLimit", (ASSOC, Per.GROUP, Measure.RUN_MINUTES, "cpu", False)),
        ("AssocGrpGRESMinutes", (ASSOC, Per.GROUP, Measure.MINUTES, "gres/", False)),
        ("AssocMaxJobsLimit", (ASSOC, Per.USER, Measure.JOBS, "", False)),
        ("AssocMaxSubmitJobLimit", (ASSOC, Per.USER, Measure.SUBMITTED, "", False)),
        ("AssocMaxMemPerNode", (ASSOC, Per.NODE, Measure.AT_ONCE, "mem", False)),
        ("AssocMaxWallDurationPerJobLimit", (ASSOC, Per.JOB, Measure.WALL, "", False)),
        ("AssocGrpWallLimit", (ASSOC, Per.GROUP, Measure.WALL, "", False)),
        ("QOSMaxCpuPerUserLimit", (QOS, Per.USER, Measure.AT_ONCE, "cpu", False)),
        ("QOSMaxJobsPerUserLimit", (QOS, Per.USER, Measure.JOBS, "", False)),
        ("QOSGrpMemoryRunMinutes", (QOS, Per.GROUP, Measure.RUN_MINUTES, "mem", False)),
        ("QOSMinCpuNotSatisfied", (QOS, Per.JOB, Measure.AT_ONCE, "cpu", True)),
        ("QOSMinGRES", (QOS, Per.JOB, Measure.AT_ONCE, "gres/", True)),
        ("QOSMaxLicenseMinutesPerJob", (QOS, Per.JOB, Measure.MINUTES, "license/", False)),
        ("MaxNodePerAccount", (QOS, Per.ACCOUNT, Measure.AT_ONCE, "node", False)),
        ("MaxJobsPerAccount", (QOS, Per.ACCOUNT, Measure.JOBS, "", False)),
        ("MaxSubmitJobsPerAccount", (QOS, Per.ACCOUNT, Measure.SUBMITTED, "", False)),
        ("MaxCpuRunMinsPerUser", (QOS, Per.USER, Measure.RUN_MINUTES, "cpu", False)),
    ],
)
def test_a_name_says_whose_limit_it_is_over_what_and_of_what(
    code: str, means: tuple[Holder, Per, Measure, str, bool]
) -> None:
    assert reads(code) == means


@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_every_limit_that_slurm_names_is_understood(version: str) -> None:
    codes = (Path(__file__).parent / f"reasons-{version}.txt").read_text().split()
    of_limits = [
        code
        for code in codes
        if code.startswith(("AssocGrp", "AssocMax", "QOSGrp", "QOSMax", "QOSMin"))
        or code.endswith(("PerAccount", "PerUser"))
    ]

    assert len(of_limits) > 140
    assert [code for code in of_limits if named(code) is None] == []


@pytest.mark.parametrize(
    "code", ["Resources", "MaxMemPerLimit", "MaxPoweredUpNodes", "QOSNotAllowed"]
)
def test_what_is_no_limit_is_not_read_as_one(code: str) -> None:
    assert named(code) is None


def test_an_admin_is_told_the_command_that_raises_it() -> None:
    of_account = limit(ASSOC, Per.GROUP, Measure.AT_ONCE, 4, resource="gres/gpu", of="lab")
    of_qos = Limit(rule=Rule(holder=QOS, per=Per.USER, measure=Measure.JOBS), of="long", amount=1)

    assert command(of_account, 8) == "sacctmgr modify account lab set GrpTRES=gres/gpu=8"
    assert command(of_qos, 2) == "sacctmgr modify qos long set MaxJobsPerUser=2"
