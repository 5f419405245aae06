"""What would cost less: only what is really cheaper, and what this cluster can really give."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from clusterra.core.cost.estimate.alternatives import MOST, Alternative, Kind, Known, alternatives
from clusterra.core.cost.estimate.ground import Ground
from clusterra.core.cost.estimate.priced import price
from clusterra.core.cost.prices import Book
from clusterra.core.jobs.job import Job
from clusterra.core.scaling.fleet import Phase, Shortage, Worker
from clusterra.core.scaling.policy import Policy
from clusterra.core.scaling.shapes import Price, Purchase, table
from tests.builders import NOON, a_job

PRICES = {
    "c7i.xlarge": Price(on_demand=178_500, spot=70_000),
    "c7i.2xlarge": Price(on_demand=357_000, spot=140_000),
    "c7i.4xlarge": Price(on_demand=714_000, spot=280_000),
    "c7g.2xlarge": Price(on_demand=290_000, spot=120_000),
    "m7i.2xlarge": Price(on_demand=403_200, spot=160_000),
    "m7g.2xlarge": Price(on_demand=326_400, spot=130_000),
    "r7i.2xlarge": Price(on_demand=529_200, spot=200_000),
    "g6e.xlarge": Price(on_demand=1_861_000, spot=900_000),
    "p5.4xlarge": Price(on_demand=6_880_000),
    "p4de.24xlarge": Price(on_demand=27_447_000),
    "g6.xlarge": Price(on_demand=805_000),
}
SHAPES = {name: each for name, each in table(PRICES).items() if each.price != Price()}
GROUND = Ground(now=NOON, book=Book(table_at=NOON), shapes=SHAPES)
NOTHING = Known()


def a_wish(**known: Any) -> Job:
    fields = {"cpus": 2, "memory_mib": 4096, "tasks": 1, "time_limit_minutes": 600}
    return a_job(0, **(fields | known))


def found(job: Job, known: Known = NOTHING, ground: Ground = GROUND) -> dict[Kind, Alternative]:
    return {each.kind: each for each in alternatives(job, price(job, ground), ground, known)}


def test_the_other_architecture_is_told_with_the_option_and_what_it_saves() -> None:
    job = a_wish(cpus=4, memory_mib=16 * 1024)

    arm = found(job)[Kind.ARCHITECTURE]

    assert arm.option == "--constraint arm64"
    assert arm.priced.shape == "general-small-arm"
    before = price(job, GROUND).total
    assert before is not None
    assert arm.priced.total is not None
    assert arm.saved == before - arm.priced.total
    assert arm.percent == 19


def test_a_job_that_names_its_architecture_is_not_sent_to_another() -> None:
    assert Kind.ARCHITECTURE not in found(a_wish(features="amd64"))


def test_a_constraint_is_kept_and_added_to() -> None:
    arm = found(a_wish(features="compute|general"))[Kind.ARCHITECTURE]

    assert arm.option == "--constraint '(compute|general)&arm64'"


def test_an_architecture_that_the_policy_does_not_allow_is_not_proposed() -> None:
    ground = replace(GROUND, policy=Policy(architectures=("amd64",)))

    assert Kind.ARCHITECTURE not in found(a_wish(), ground=ground)


def test_less_memory_is_proposed_where_the_job_then_falls_into_a_cheaper_family() -> None:
    # With 26 GiB to 4 CPUs it is one for memory machines. On general ones, 17 GiB are as large a
    # part of the memory as 4 are of the CPUs.
    less = found(a_wish(cpus=4, memory_mib=26 * 1024))[Kind.MEMORY]

    assert less.option == "--mem 17G"
    assert less.priced.shape == "general-small"
    assert "26G" in less.say


def test_of_several_amounts_of_memory_the_one_that_takes_least_away_is_proposed() -> None:
    less = found(a_wish(cpus=4, memory_mib=12 * 1024))[Kind.MEMORY]
    asked = int(less.option.removeprefix("--mem ").removesuffix("G"))
    cheaper = price(a_wish(cpus=4, memory_mib=(asked + 1) * 1024), GROUND)

    before = price(a_wish(cpus=4, memory_mib=12 * 1024), GROUND)
    assert less.priced.total is not None
    assert before.total is not None
    assert less.priced.total < before.total
    assert cheaper.total is not None
    assert less.priced.total < cheaper.total


def test_far_less_memory_than_was_asked_for_is_never_proposed() -> None:
    for gib in range(1, 60):
        job = a_wish(cpus=4, memory_mib=gib * 1024)
        for each in found(job).values():
            if each.kind is Kind.MEMORY:
                unit = 1024 if each.option.endswith("G") else 1
                mib = int(each.option.split()[1][:-1]) * unit
                assert gib * 1024 * 0.6 <= mib < gib * 1024


def test_one_cpu_fewer_can_be_a_machine_of_half_the_size() -> None:
    fewer = found(a_wish(cpus=8, memory_mib=8192, exclusive=True))[Kind.CPUS]

    assert fewer.option == "--cpus 7 --time 11h26m"
    assert fewer.priced.shape == "compute-small"
    assert fewer.in_time == "It takes about 14 % longer."


def test_the_longer_run_is_counted_against_fewer_cpus() -> None:
    # Half the CPUs for twice the time is no saving.
    assert Kind.CPUS not in found(a_wish(cpus=14, memory_mib=8192))


def test_who_shares_its_nodes_pays_less() -> None:
    assert found(a_wish(exclusive=True))[Kind.SHARE].option == "without --exclusive"
    assert Kind.SHARE not in found(a_wish())


def test_spot_is_told_to_those_who_can_decide_it_with_its_risk() -> None:
    spot = found(a_wish(), Known(sets_policy=True))[Kind.SPOT]

    assert spot.option == "clusterra fleet policy set --purchase spot"
    assert "taken back" in spot.in_time
    assert spot.percent == 60
    assert Kind.SPOT not in found(a_wish())


def test_what_is_bought_as_spot_already_is_not_proposed_again() -> None:
    ground = replace(GROUND, policy=Policy(purchase=Purchase.SPOT))

    assert Kind.SPOT not in found(a_wish(), Known(sets_policy=True), ground)


def test_a_cheaper_gpu_has_at_least_as_much_memory() -> None:
    h100 = found(a_wish(gpus=1, gpu_model="h100"))[Kind.GPU]
    assert h100.option == "--gpus a100-80gb:1"

    l40s = found(a_wish(gpus=1, gpu_model="l40s"))
    assert Kind.GPU not in l40s, "an l4 is cheaper and has half the memory"


def test_a_job_that_takes_any_gpu_has_the_cheapest_already() -> None:
    assert Kind.GPU not in found(a_wish(gpus=1))


def test_a_shorter_limit_comes_last_and_says_that_it_saves_only_in_the_quota() -> None:
    known = Known(longest_run=700)

    told = alternatives(a_wish(), price(a_wish(), GROUND), GROUND, known)

    assert told[-1].kind is Kind.TIME
    assert told[-1].option == "--time 20m"
    assert "quota" in told[-1].say
    assert Kind.TIME not in found(a_wish(time_limit_minutes=20), known)


def test_nothing_is_proposed_that_the_cluster_cannot_start() -> None:
    until = NOON + timedelta(hours=1)
    short = {
        name: Shortage(until=until, why="none left")
        for name, shape in SHAPES.items()
        if shape.arch == "arm64"
    }

    assert Kind.ARCHITECTURE not in found(a_wish(), ground=replace(GROUND, shortages=short))


def test_a_worker_that_must_start_first_is_said_where_one_is_free_now() -> None:
    idle = Worker(
        name="compute-xs-1",
        shape="compute-xs",
        phase=Phase.READY,
        since=NOON,
        cpus=3,
        memory_mib=6_000,
    )
    ground = replace(GROUND, workers=(idle,))
    known = Known(usual_seconds={"compute-small-arm": 40})

    arm = found(a_wish(), known, ground)[Kind.ARCHITECTURE]

    assert arm.in_time == ("A compute-small-arm worker has to be started first, usually in 40 s.")


def test_everything_proposed_is_cheaper_by_a_real_amount_and_there_are_a_few_of_them() -> None:
    known = Known(sets_policy=True, longest_run=60)
    for cpus in range(1, 16):
        for gib in (0, 1, 3, 7, 13, 27, 55):
            job = a_wish(cpus=cpus, memory_mib=gib * 1024, exclusive=cpus % 2 == 0)
            before = price(job, GROUND)
            told = alternatives(job, before, GROUND, known)
            assert len(told) <= MOST
            for each in told:
                assert before.total is not None
                assert each.priced.total is not None
                assert each.saved == before.total - each.priced.total > 0
                assert each.percent >= 5


def test_a_job_whose_price_is_not_known_has_no_alternatives() -> None:
    nowhere = Ground(now=NOON, book=Book(table_at=NOON))

    assert alternatives(a_wish(), price(a_wish(), nowhere), nowhere, NOTHING) == ()
