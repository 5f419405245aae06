"""Which shapes would be started for a need, and which were passed over and why.

The rule `family` leaves one, the rule `cheapest` all that fit; how many of them are bought is in
`buying.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from clusterra.core.scaling import sentences
from clusterra.core.scaling.demand import Need
from clusterra.core.scaling.fleet import Shortage
from clusterra.core.scaling.packing import Market, Want, suiting
from clusterra.core.scaling.policy import Policy, Rule
from clusterra.core.scaling.serves import holds, right_kinds
from clusterra.core.scaling.shapes import Family, Shape

GIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    shapes: tuple[Shape, ...] = ()
    """Any of them may be started; none if nothing can be."""

    alone: tuple[Shape, ...] = ()
    """What would do if it were the only one: limits may leave enough for that and no more."""

    short: tuple[str, ...] = ()
    """Those that would do and did not come lately."""

    refused: tuple[str, ...] = ()


def family_of(need: Need) -> Family:
    if need.gpus:
        return Family.GPU
    if need.memory_mib <= 3 * GIB * need.cpus:
        return Family.COMPUTE
    return Family.GENERAL if need.memory_mib <= 6 * GIB * need.cpus else Family.MEMORY


_NEXT = {
    Family.COMPUTE: (Family.COMPUTE, Family.GENERAL, Family.MEMORY, Family.GPU),
    Family.GENERAL: (Family.GENERAL, Family.MEMORY, Family.COMPUTE, Family.GPU),
    Family.MEMORY: (Family.MEMORY, Family.GENERAL, Family.COMPUTE, Family.GPU),
    Family.GPU: (Family.GPU,),
}


class Chooser:
    def __init__(
        self,
        policy: Policy,
        shapes: Mapping[str, Shape],
        shortages: Mapping[str, Shortage],
        now: datetime,
    ) -> None:
        self.policy = policy
        self.shapes = shapes
        by_price = policy.rule is Rule.CHEAPEST
        self.market = Market(shapes, policy.purchase, by_price=by_price)
        self._choices: dict[Need, Choice] = {}
        self.short = {name: each for name, each in shortages.items() if each.until > now}

    def fitting(self, need: Need) -> list[Shape]:
        """Return what may be started and can hold it, shortage or not."""
        allowed = self.policy.architectures
        kinds = right_kinds(need, self.shapes.values())
        fitting = [shape for shape in kinds if shape.arch in allowed and holds(need, shape)]
        return sorted(fitting, key=self._by_cost)

    def want(self, index: int, need: Need, count: int) -> Want:
        shapes = self._alone(need).shapes
        return Want(
            index=index,
            need=need,
            count=count,
            suits=suiting(need, self.shapes),
            home=self.market.home(shapes[0]) if shapes else "",
            worth=self.market.worth(need, shapes) if shapes and self.market.by_price else 0.0,
        )

    def choose(self, wants: Sequence[Want]) -> dict[int, Choice]:
        """Choose for each line; where it goes by family, the biggest line decides for all of it."""
        choices = {want.index: self._alone(want.need) for want in wants}
        if self.policy.rule is Rule.FAMILY:
            self._by_the_biggest(wants, choices)
        return choices

    def _alone(self, need: Need) -> Choice:
        if need not in self._choices:
            self._choices[need] = self._chosen(need)
        return self._choices[need]

    def _chosen(self, need: Need) -> Choice:
        fitting = self.fitting(need)
        there = [shape for shape in fitting if shape.name not in self.short]
        arch = next((a for a in self.policy.architectures if any(s.arch == a for s in there)), "")
        there = [shape for shape in there if shape.arch == arch]
        short = [shape for shape in fitting if shape.name in self.short]
        if self.policy.rule is Rule.CHEAPEST or not there:
            some = tuple(sorted(there, key=self._by_cost))
            return self._said(Choice(shapes=some, short=tuple(s.name for s in short)))
        family = next(each for each in _NEXT[family_of(need)] if _of(there, each))
        shape = min(_of(there, family), key=self._by_size)
        # Only a shortage of what would have been taken instead is worth telling.
        before = [each for each in short if self._rank(need, each) < self._rank(need, shape)]
        choice = self._said(
            Choice(shapes=(shape,), alone=(shape,), short=tuple(each.name for each in before))
        )
        return replace(choice, refused=choice.refused + self._other_families(need, family, arch))

    def _rank(self, need: Need, shape: Shape) -> tuple[object, ...]:
        arch = self.policy.architectures.index(shape.arch)
        return arch, _NEXT[family_of(need)].index(shape.family), self._by_size(shape)

    def _said(self, choice: Choice) -> Choice:
        said = tuple(
            sentences.short(name, self.short[name].why, self.short[name].until)
            for name in choice.short
        )
        return replace(choice, refused=said)

    def _other_families(self, need: Need, chosen: Family, arch: str) -> tuple[str, ...]:
        own = family_of(need)
        if own is chosen or any(shape.family is own for shape in self.fitting(need)):
            return ()
        return (sentences.no_size_of(own, arch, need),)

    def _by_the_biggest(self, wants: Sequence[Want], choices: dict[int, Choice]) -> None:
        """Give lines of a family the size that the biggest of them needs.

        Not for GPUs: a job with one would be given a machine with eight.
        """
        groups: dict[tuple[str, Family], list[Want]] = {}
        for want in wants:
            for shape in choices[want.index].shapes:
                if not shape.gpus:
                    groups.setdefault((shape.arch, shape.family), []).append(want)
        for group in groups.values():
            group.sort(key=lambda want: self._by_size(choices[want.index].shapes[0]), reverse=True)
            rest = group
            while rest:
                rest = self._give_size(rest, choices)

    def _give_size(self, group: Sequence[Want], choices: dict[int, Choice]) -> list[Want]:
        """Give all it can hold the size of the first; return the others."""
        first = group[0]
        (shape,) = choices[first.index].shapes
        rest = []
        for want in group:
            if shape.name in want.suits and holds(want.need, shape):
                choices[want.index] = replace(choices[want.index], shapes=(shape,))
            else:
                rest.append(want)
        refused = choices[first.index].refused + self._smaller(first.need, shape)
        choices[first.index] = replace(choices[first.index], refused=refused)
        return rest

    def _smaller(self, need: Need, shape: Shape) -> tuple[str, ...]:
        """Say what the next smaller size lacked."""
        smaller = [
            each
            for each in self.shapes.values()
            if each.family is shape.family
            and each.arch == shape.arch
            and self._by_size(each) < self._by_size(shape)
            and not holds(need, each)
        ]
        if not smaller:
            return ()
        return (sentences.too_small(max(smaller, key=self._by_size), need),)

    def _by_size(self, shape: Shape) -> tuple[object, ...]:
        if shape.gpus:
            return self._by_cost(shape)
        return shape.cpus, shape.memory_mib, shape.name

    def _by_cost(self, shape: Shape) -> tuple[object, ...]:
        return self.market.cost(shape.name), shape.cpus, shape.memory_mib, shape.name


def _of(shapes: Sequence[Shape], family: Family) -> list[Shape]:
    return [shape for shape in shapes if shape.family is family]
