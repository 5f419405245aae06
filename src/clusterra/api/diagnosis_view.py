"""Why a job failed, in the shape that travels."""

from clusterra.core.jobs.again import body_of
from clusterra.core.jobs.diagnosis import Diagnosis
from clusterra.wire.diagnosis import DetailView, DiagnosisView, NodeEventView, ResubmitView


def diagnosis_view(found: Diagnosis) -> DiagnosisView:
    job = found.job
    ran = job.ended_at - job.started_at if job.started_at and job.ended_at else None
    again = found.resubmit
    return DiagnosisView(
        job_id=job.id,
        label=job.label,
        name=job.name,
        user=job.user,
        state=job.state.value,
        failed=found.failed,
        cause=found.cause.value,
        sure=found.sure,
        summary=found.summary,
        exit_code=job.exit_code,
        signal=job.signal,
        ended_with=found.ended_with,
        details=[DetailView(label=row.label, value=row.value) for row in found.details],
        last_lines=list(found.last_lines),
        memory_asked_mib=job.memory_mib,
        memory_used_mib=found.memory_used_mib,
        time_limit_minutes=job.time_limit_minutes,
        ran_seconds=None if ran is None else int(ran.total_seconds()),
        node_events=[
            NodeEventView(node=each.node, type=each.type, at=each.at, says=each.says)
            for each in found.node_events
        ],
        spot=bool(found.taken_back),
        cost_lost_micros=found.lost_micros,
        advice=found.advice,
        resubmit=None
        if again is None
        else ResubmitView(body=body_of(again), changes=list(found.changes)),
        resubmit_helps=found.fix is not None,
        why_not=found.why_not,
    )
