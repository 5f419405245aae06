import pytest

from clusterra.adapters.ec2_prices import prices
from clusterra.core.errors import Invalid
from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.serves import holds, nearest
from clusterra.core.scaling.shapes import Family, Price, Purchase, Shape, Size, table, template


def test_a_shape_offers_what_is_left_after_its_own_needs() -> None:
    shape = table()["general-large"]

    assert (shape.vcpus, shape.memory_gib) == (32, 128)
    assert (shape.cpus, shape.memory_mib) == (31, 128 * 1024 - 1328)
    assert shape.features == {"general", "large", "amd64", "general-large"}


def test_there_is_every_family_in_every_size_and_architecture() -> None:
    shapes = table()

    for family, gib_per_vcpu in ((Family.COMPUTE, 2), (Family.GENERAL, 4), (Family.MEMORY, 8)):
        for size in Size:
            for ending, arch in (("", "amd64"), ("-arm", "arm64")):
                shape = shapes[f"{family}-{size}{ending}"]
                assert shape.arch == arch
                assert shape.memory_gib == gib_per_vcpu * shape.vcpus


def test_a_gpu_shape_is_the_smallest_machine_with_that_many() -> None:
    shapes = table(prices("us-east-1"))

    four = shapes["gpu-a10g-x4"]
    assert (four.gpus, four.gpu_model, four.types) == (4, "a10g", ("g5.12xlarge",))
    assert "a10g" in four.features
    assert shapes["gpu-h100-x1"].types == ("p5.4xlarge",)


def test_the_cheapest_machine_comes_first_and_gives_the_price() -> None:
    priced = table({"c7i.xlarge": Price(on_demand=90), "c7a.xlarge": Price(on_demand=50, spot=70)})
    shape = priced["compute-xs"]

    assert shape.types == ("c7a.xlarge", "c7i.xlarge", "c6i.xlarge")
    assert shape.usd_per_hour(Purchase.ON_DEMAND) == 50
    assert shape.usd_per_hour(Purchase.SPOT) == 70
    assert table()["compute-xs"].usd_per_hour(Purchase.SPOT) is None


def test_a_cluster_can_have_shapes_of_its_own() -> None:
    own = Shape(
        name="general-xs",
        family=Family.GENERAL,
        size="xs",
        arch="amd64",
        vcpus=2,
        memory_gib=8,
        cpus=2,
        memory_mib=8000,
    )
    assert table(own=[own])["general-xs"].cpus == 2
    assert len(table(own=[own])) == len(table())
    assert list(table(own=[own], only_own=True)) == ["general-xs"]


def test_no_shape_exceeds_the_template_in_anything() -> None:
    shapes = table()
    most = template(shapes)

    assert most.gpus["a10g"] == 8
    for shape in shapes.values():
        assert shape.features <= most.features
        assert shape.cpus <= most.cpus
        assert shape.memory_mib <= most.memory_mib
        assert shape.gpus <= most.gpus.get(shape.gpu_model, 0)


@pytest.mark.parametrize(
    ("need", "name"),
    [
        (Need(cpus=64), "compute-xlarge"),
        (Need(memory_mib=1024 * 1024), "memory-xlarge"),
        (Need(cpus=16), "compute-large"),
        (Need(gpus=9, gpu_model="l4"), "gpu-l4-x8"),
        (Need(cpus=64, features="arm64"), "compute-xlarge-arm"),
        (Need(features="nowhere"), "compute-xs"),
    ],
)
def test_the_nearest_shape_is_the_smallest_of_those_that_lack_least(need: Need, name: str) -> None:
    near = nearest(need, table())

    assert near is not None
    assert near.name.removesuffix("-arm") == name.removesuffix("-arm")


def test_there_is_no_nearest_shape_to_a_gpu_nobody_has() -> None:
    assert nearest(Need(gpus=1, gpu_model="v100"), table()) is None


def test_prices_are_whole_millionths_of_a_dollar() -> None:
    assert prices("eu-north-1")["m7i.8xlarge"].on_demand == 1_713_600
    spot = prices("us-east-1")["c6i.xlarge"].spot
    assert isinstance(spot, int)


def test_an_unknown_region_is_refused_with_those_there_are() -> None:
    with pytest.raises(Invalid, match="'mars-1'") as refused:
        prices("mars-1")

    assert refused.value.hint.count("-1") + refused.value.hint.count("-2") == 9
    assert "eu-central-1" in refused.value.hint


def test_every_shape_has_a_price_where_most_is_sold() -> None:
    for shape in table(prices("us-east-1")).values():
        assert shape.usd_per_hour(Purchase.ON_DEMAND)
        assert holds(Need(cpus=shape.cpus, memory_mib=shape.memory_mib, gpus=shape.gpus), shape)
