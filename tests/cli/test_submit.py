import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clusterra.cli.screen import Screen
from clusterra.wire.estimate import (
    AlternativeView,
    BeforeView,
    JobEstimate,
    QuotaEffectView,
    ShapeView,
)
from clusterra.wire.why import CalibrationView, EstimateView
from tests.cli.conftest import Terminal
from tests.cli.world import (
    NOON,
    Answer,
    Asked,
    FakeApi,
    Hangup,
    a_job,
    ended,
    problem,
    running,
)

pytestmark = pytest.mark.enable_socket


def sent(api: FakeApi) -> Asked:
    return next(asked for asked in api.asked if asked.path.endswith("/submit"))


def test_the_first_line_answers_and_the_last_is_the_next_step(
    terminal: Terminal, script: Path
) -> None:
    result = terminal("jobs", "submit", str(script))

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Job 41 submitted as ana",
        "Watch it:  clusterra jobs watch 41",
    ]


def test_options_travel_as_they_were_given(terminal: Terminal, api: FakeApi, script: Path) -> None:
    terminal(
        *("jobs", "submit", str(script), "--cpus", "4", "--memory", "8G", "--time", "2h"),
        *("--gpus", "a100:2", "--nodes", "2-4", "--env", "A=1", "--env", "B=x=y", "--hold"),
    )

    assert sent(api).body == {
        "script": "#!/bin/bash\nhostname\n",
        "script_name": "align.sh",
        "name": "align",
        "cpus": 4,
        "memory": "8G",
        "time": "2h",
        "gpus": "a100:2",
        "nodes": "2-4",
        "env": {"A": "1", "B": "x=y"},
        "hold": True,
    }


def test_a_name_inside_the_script_is_left_alone(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    script.write_text("#!/bin/bash\n#SBATCH -N 1 --job-name=mine\n")

    terminal("jobs", "submit", str(script))

    assert "name" not in sent(api).body


def test_a_script_may_come_on_standard_input(terminal: Terminal, api: FakeApi) -> None:
    terminal("jobs", "submit", "-", typed="#!/bin/sh\r\ntrue\r\n")

    assert sent(api).body == {"script": "#!/bin/sh\r\ntrue\r\n"}


def test_a_program_is_not_a_script(terminal: Terminal, tmp_path: Path) -> None:
    program = tmp_path / "a.out"
    program.write_bytes(b"\x7fELF\xff\xfe")

    result = terminal("jobs", "submit", str(program))

    assert result.exit_code == 2
    assert "byte 5 is not text" in result.stderr


def test_json_is_what_the_api_said(terminal: Terminal, api: FakeApi, script: Path) -> None:
    body = b'{"job_id":41,  "run_id":"r","user":"ana","new":true}'
    api.routes["POST jobs/submit"] = lambda _: Answer(201, body)

    assert terminal("jobs", "submit", str(script), "--json").stdout.encode() == body + b"\n"


def test_in_a_pipe_waiting_prints_one_line_per_change(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    api.life = [a_job(reason="Resources")] * 3 + [running()] * 5 + [ended()]
    api.output = b"aligned\n"

    result = terminal("jobs", "submit", str(script), "--wait")

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Job 41 submitted as ana",
        "◌ waiting · what it asks for is in use (Resources)",
        "● running · on w1",
        "aligned",
        "✓ completed in 31 s · output job_41.out (8 B)",
    ]


def test_on_a_terminal_one_line_is_rewritten(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    terminal.screen = Screen(live=True, colour=False, width=60)
    api.life = [a_job(reason="Priority"), running(), ended()]

    told = terminal("jobs", "submit", str(script), "--wait").stdout

    lines = [line.split("\r\x1b[K")[-1] for line in told.split("\n")]
    assert lines[1] == "◌ waiting     jobs with a higher priority are ahead…  00:00"
    assert lines[2].startswith("● running     on w1")
    assert all(len(line) < 60 for line in lines)


@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        ({"state": "FAILED", "exit_code": 7}, 7, "✗ failed with exit code 7 after 31 s"),
        (
            {"state": "FAILED", "exit_code": None, "signal": 9},
            137,
            "✗ failed with signal 9 (KILL) after 31 s",
        ),
        ({"state": "TIMEOUT"}, 1, "✗ reached its time limit of 1 h"),
        ({"state": "CANCELLED", "started_at": None}, 1, "⊘ cancelled before it started"),
        ({"state": "OUT_OF_MEMORY"}, 1, "✗ out of memory after 31 s"),
        ({"state": "NODE_FAIL"}, 1, "✗ lost with its node after 31 s"),
    ],
)
def test_the_exit_code_is_the_jobs(
    terminal: Terminal, api: FakeApi, script: Path, end: dict[str, object], code: int, words: str
) -> None:
    api.life = [ended(**end)]

    result = terminal("jobs", "submit", str(script), "--wait")

    assert result.exit_code == code
    assert words in result.stdout
    assert result.stdout.splitlines()[-1] == "What happened:  clusterra jobs show 41"


def test_long_output_shows_its_end_and_how_to_see_all(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    api.life = [ended()]
    api.output = b"".join(b"line %d\n" % n for n in range(5000))

    result = terminal("jobs", "submit", str(script), "--wait")

    assert "line 4999\n" in result.stdout
    assert "line 4979\n" not in result.stdout
    assert "clusterra jobs logs 41" in result.stderr
    assert "(48.9 kB)" in result.stdout


def test_ctrl_c_stops_watching_and_never_the_job(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    api.life = [running()]

    def interrupt() -> None:
        raise KeyboardInterrupt

    terminal.watch.on_wait = interrupt
    result = terminal("jobs", "submit", str(script), "--wait")

    assert result.exit_code == 130
    assert result.stderr.splitlines() == [
        "Stopped watching; job 41 goes on. Cancel it with: clusterra jobs cancel 41"
    ]
    assert not [asked for asked in api.asked if asked.method == "DELETE"]


def test_a_lost_answer_is_asked_for_again_under_the_same_key(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    tries: list[str] = []

    def answer_lost(asked: Asked) -> Answer:
        tries.append(asked.headers["idempotency-key"])
        if len(tries) == 1:
            raise Hangup
        return Answer(200, b'{"job_id":41,"run_id":"r","user":"ana"}')

    api.routes["POST jobs/submit"] = answer_lost
    result = terminal("jobs", "submit", str(script))

    assert result.exit_code == 0
    assert len(tries) == 2
    assert len(set(tries)) == 1
    assert tries[0]


def test_asking_twice_is_enough(terminal: Terminal, api: FakeApi, script: Path) -> None:
    api.routes["POST jobs/submit"] = lambda _: problem(
        503, "unreachable", "Slurm of dev does not answer.", "Try again in 5 s."
    )

    result = terminal("jobs", "submit", str(script), "--idempotency-key", "mine")

    keys = [each.headers["idempotency-key"] for each in api.asked if each.method == "POST"]
    assert (result.exit_code, keys) == (5, ["mine", "mine"])
    assert result.stderr == "Slurm of dev does not answer.\nTry again in 5 s.\n"


def test_a_server_that_is_away_for_a_moment_is_waited_for(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    looks: list[Asked] = []

    def restarting(asked: Asked) -> object:
        looks.append(asked)
        if len(looks) in {2, 3}:
            return problem(503, "unreachable", "Starting.")
        return running() if len(looks) < 4 else ended()

    api.routes["GET jobs/41"] = restarting
    result = terminal("jobs", "submit", str(script), "--wait")

    assert result.exit_code == 0
    assert "? no answer · Clusterra does not answer; asking again" in result.stdout


def test_a_server_that_stays_away_ends_the_watching(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    api.routes["GET jobs/41"] = lambda _: problem(503, "unreachable", "Starting.")

    assert terminal("jobs", "submit", str(script), "--wait").exit_code == 5
    assert terminal.watch.at - NOON > timedelta(seconds=60)


def test_a_job_just_submitted_may_take_a_moment_to_be_found(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    looks: list[Asked] = []

    def late(asked: Asked) -> object:
        looks.append(asked)
        return problem(404, "not-found", "No job 41.") if len(looks) < 3 else ended()

    api.routes["GET jobs/41"] = late
    assert terminal("jobs", "submit", str(script), "--wait").exit_code == 0


def test_waiting_as_json_prints_the_job_as_it_ended_and_nothing_else(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    api.life = [running(), ended(state="FAILED", exit_code=7)]

    result = terminal("jobs", "submit", str(script), "--wait", "--json")

    assert json.loads(result.stdout)["state"] == "FAILED"
    assert result.exit_code == 7


def test_an_array_is_waited_for_as_a_whole(terminal: Terminal, api: FakeApi, script: Path) -> None:
    api.life = [a_job(array_id=41, label="41_[0-1]")]
    tasks = [
        ended(job_id=42, array_id=41, array_task=0, label="41_0"),
        ended(job_id=41, array_id=41, array_task=1, label="41_1", state="FAILED", exit_code=3),
    ]
    looks: list[str] = []

    def by_query(asked: Asked) -> object:
        looks.append(asked.query["q"])
        live = asked.query["q"].endswith("state:live") and looks.count(asked.query["q"]) == 1
        jobs = [running(job_id=42, array_id=41, array_task=0, label="41_0")] if live else tasks
        if asked.query["q"].endswith("state:live") and not live:
            jobs = []
        seen = {"next": None, "observed_at": NOON, "age_seconds": 0, "stale": False}
        return {"jobs": jobs, "total": len(jobs)} | seen

    api.routes["GET jobs"] = by_query
    result = terminal("jobs", "submit", str(script), "--wait")

    assert result.exit_code == 3
    assert "● running · 1 running · 2 ended" in result.stdout
    assert result.stdout.splitlines()[-1] == (
        "✗ 1 of 2 tasks did not complete · clusterra jobs list array:41 -state:completed"
    )


def test_run_keeps_stdout_for_the_command(terminal: Terminal, api: FakeApi) -> None:
    api.life = [running(), ended()]
    api.output = b"w1\n"

    result = terminal("run", "--cpus", "2", "--", "echo", "a b", "-c")

    assert result.stdout == "w1\n"
    assert "✓ completed in 31 s" in result.stderr
    assert sent(api).body == {
        "script": "#!/bin/sh\necho 'a b' -c\n",
        "name": "echo",
        "cpus": 2,
    }


def test_a_refusal_is_said_in_the_apis_words(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    api.routes["POST jobs/submit"] = lambda _: problem(
        422, "refused", "No node holds 200 CPUs; the largest has 64.", "Ask for 4 nodes of 50."
    )

    result = terminal("jobs", "submit", str(script))

    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr == (
        "No node holds 200 CPUs; the largest has 64.\nAsk for 4 nodes of 50.\n"
    )


@pytest.mark.parametrize(
    "words", [("--env", "novalue"), ("--cpus", "many"), ("nowhere.sh",), ("--nonsense",)]
)
def test_wrong_usage_is_two(terminal: Terminal, script: Path, words: tuple[str, ...]) -> None:
    assert terminal("jobs", "submit", str(script), *words).exit_code == 2


# --- what it would come to


def an_estimate(**known: Any) -> JobEstimate:
    fields: dict[str, Any] = {
        "name": "align",
        "user": "ana",
        "shape": ShapeView(
            name="general-small",
            arch="amd64",
            cpus=7,
            memory_mib=31_440,
            gpus=0,
            gpu_model="",
            types=["m7i.2xlarge"],
        ),
        "node": "",
        "workers": 1,
        "available": "start",
        "available_said": "",
        "worker_seconds": 40.0,
        "tasks": 1,
        "usd_per_hour_micros": 230_400,
        "worker_usd_per_hour_micros": 403_200,
        "time_limit_minutes": 120,
        "total_micros": 460_800,
        "basis": "m7i.2xlarge on-demand (table)",
        "estimate": False,
        "why_unknown": "",
        "start": EstimateView(
            low=NOON + timedelta(seconds=20),
            likely=NOON + timedelta(seconds=42),
            high=NOON + timedelta(seconds=90),
            basis="From 3 general-small workers that came before",
            calibration=CalibrationView(predictions=0, inside=0, share=None),
        ),
        "why_no_start": "",
        "before": None,
        "quotas": [],
        "over": [],
        "refused": False,
        "alternatives": [],
        "warnings": [],
    }
    return JobEstimate(**(fields | known))


ARM = AlternativeView(
    kind="architecture",
    say="Run it on arm64 machines, if its programs are there for arm64.",
    option="--constraint arm64",
    shape="general-small-arm",
    usd_per_hour_micros=186_500,
    total_micros=373_000,
    saved_micros=87_800,
    saved_percent=19,
    in_time="",
)
QUOTA = QuotaEffectView(
    whose="ana@lab.example",
    mode="block",
    limit_micros=50_000_000,
    spent_micros=8_800_000,
    projected_micros=10_000_000,
    left_micros=41_200_000,
    after_micros=10_460_800,
)


def test_a_dry_run_says_shape_price_total_start_quota_and_what_costs_less(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    api.routes["POST jobs/estimate"] = lambda _: an_estimate(alternatives=[ARM], quotas=[QUOTA])

    result = terminal("jobs", "submit", str(script), "--dry-run")

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Would run on general-small · $0.23/h · $0.46 at its time limit",
        "  worker  7 CPUs, 30.7 GiB · amd64 · like m7i.2xlarge · would be started for it, usually in 40 s",
        "  price   $0.23/h · a whole worker is $0.40/h · m7i.2xlarge on-demand (table)",
        "  total   $0.46 if it takes all of its 2 h",
        "  start   in about 42 s (20 s – 1m 30s): from 3 general-small workers that came before",
        "  quota   ana@lab.example: $41.20 left of $50.00 this month · $8.80 spent · $39.54 would be left if",
        "          all took its time",
        "",
        "  Cheaper",
        "    --constraint arm64  $0.19/h · saves $0.0878 (19 %)",
        "      Run it on arm64 machines, if its programs are there for arm64.",
        "",
        "Nothing was submitted.",
    ]
    assert not any(asked.path.endswith("/submit") for asked in api.asked)


def test_all_options_count_in_a_dry_run_as_they_would(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    api.routes["POST jobs/estimate"] = lambda _: an_estimate()
    asked = ("--cpus", "4", "--mem", "14G", "--constraint", "arm64", "--array", "0-9")

    terminal("jobs", "submit", str(script), "--dry-run", *asked)

    assert api.asked[-1].body == {
        "script": "#!/bin/bash\nhostname\n",
        "script_name": "align.sh",
        "name": "align",
        "cpus": 4,
        "memory": "14G",
        "constraint": "arm64",
        "array": "0-9",
    }


def test_a_dry_run_as_json_is_what_the_api_said(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    api.routes["POST jobs/estimate"] = lambda _: an_estimate()

    printed = terminal("jobs", "submit", str(script), "--dry-run", "--json").stdout

    assert json.loads(printed)["total_micros"] == 460_800


def test_a_price_that_is_not_known_is_said_with_its_reason(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    api.routes["POST jobs/estimate"] = lambda _: an_estimate(
        usd_per_hour_micros=None, total_micros=None, why_unknown="Nobody knows w1.", shape=None
    )

    lines = terminal("jobs", "submit", str(script), "--dry-run").stdout.splitlines()

    assert lines[0] == "Would run; what it costs is not known."
    assert "  price   not known: Nobody knows w1." in lines
    assert "  total   not known" in lines


def test_a_job_that_a_quota_would_keep_out_is_said_to_be(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    api.routes["POST jobs/estimate"] = lambda _: an_estimate(
        over=["This job would bring ana to $60.00 this month; the limit is $50.00."], refused=True
    )

    shown = terminal("jobs", "submit", str(script), "--dry-run").stdout

    assert "It would not be taken as it is." in shown
    assert "the limit is $50.00" in shown


def test_what_others_of_that_name_took_is_what_it_likely_costs(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    past = BeforeView(jobs=12, median_seconds=492, longest_seconds=700, likely_micros=31_488)
    api.routes["POST jobs/estimate"] = lambda _: an_estimate(before=past)

    shown = " ".join(terminal("jobs", "submit", str(script), "--dry-run").stdout.split())

    assert "likely $0.0315: the last 12 jobs called align took 8m 12s" in shown


def test_a_dry_run_cannot_be_waited_for(terminal: Terminal, api: FakeApi, script: Path) -> None:
    result = terminal("jobs", "submit", str(script), "--dry-run", "--wait")

    assert result.exit_code == 2
    assert "nothing to --wait for" in result.stderr
    assert not api.asked


def test_what_a_job_writes_is_shown_as_it_comes(
    terminal: Terminal, api: FakeApi, script: Path
) -> None:
    said = [b"one\n", b"one\ntwo\n", b"one\ntwo\nhal", b"one\ntwo\nhalf\n"]

    def output(asked: Asked) -> Answer:
        api.output = said.pop(0) if said else api.output
        return api._output(asked)

    api.life = [running()] * 5 + [ended()]
    api.output = b""
    api.routes["GET jobs/41/output"] = output

    result = terminal("jobs", "submit", str(script), "--wait")

    assert result.stdout.splitlines()[1:] == [
        "● running · on w1",
        *("one", "two", "half"),
        "✓ completed in 31 s · output job_41.out (13 B)",
    ]
