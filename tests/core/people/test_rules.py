"""Who is in a workspace by the domain of their e-mail, or by a group at the provider."""

from hypothesis import given
from hypothesis import strategies as st

from clusterra.core.access import Role
from clusterra.core.people.rules import Granted, Rules, granted, is_by_rule

LAB = Rules(
    workspace="lab",
    domains=frozenset({"lab.example"}),
    domain_role=Role.MEMBER,
    groups={"hpc-admins": Role.ADMIN, "guests": Role.VIEWER, "HPC": Role.MEMBER},
)


def test_the_domain_of_the_address_lets_in() -> None:
    assert granted(LAB, "ana@lab.example", ()) == Granted(role=Role.MEMBER, by="domain lab.example")


def test_a_domain_lets_in_neither_what_is_below_it_nor_what_ends_like_it() -> None:
    assert granted(LAB, "ana@sub.lab.example", ()) is None
    assert granted(LAB, "ana@evil-lab.example", ()) is None
    assert granted(LAB, "lab.example@evil.example", ()) is None


def test_a_group_lets_in_under_exactly_its_name() -> None:
    assert granted(LAB, "bo@other.example", ("guests",)) == Granted(
        role=Role.VIEWER, by="group guests"
    )
    assert granted(LAB, "bo@other.example", ("Guests", "hpc", "guest")) is None


def test_the_highest_of_what_several_rules_give_is_given() -> None:
    both = granted(LAB, "ana@lab.example", ("guests", "hpc-admins"))
    lower = granted(LAB, "ana@lab.example", ("guests",))

    assert both == Granted(role=Role.ADMIN, by="group hpc-admins")
    assert lower == Granted(role=Role.MEMBER, by="domain lab.example")


def test_without_rules_nobody_is_let_in() -> None:
    assert granted(Rules(workspace="lab"), "ana@lab.example", ("hpc-admins",)) is None


@given(st.sets(st.sampled_from(sorted(LAB.groups))), st.sampled_from(sorted(LAB.groups)))
def test_one_group_more_never_gives_less(groups: set[str], more: str) -> None:
    before = granted(LAB, "bo@other.example", groups)
    after = granted(LAB, "bo@other.example", groups | {more})

    assert after is not None
    assert before is None or after.role.rank >= before.role.rank


def test_what_a_rule_gave_is_told_from_what_a_person_gave() -> None:
    assert is_by_rule("domain lab.example")
    assert is_by_rule("group hpc-admins")
    assert not is_by_rule("ana@lab.example")
    assert not is_by_rule("")
