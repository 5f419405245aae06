"""Who is in a workspace without having been invited: by the domain of the e-mail, by a group."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from clusterra.core.access import Role
from clusterra.core.people.email import domain_of

BY_DOMAIN = "domain "
BY_GROUP = "group "


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    workspace: str
    domains: frozenset[str] = frozenset()
    domain_role: Role = Role.MEMBER
    groups: Mapping[str, Role] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    role: Role
    by: str
    """The rule, in words."""


def granted(rules: Rules, email: str, groups: Collection[str]) -> Granted | None:
    """Return the highest role that the rules of a workspace give somebody, if any does."""
    found = [
        Granted(role=role, by=BY_GROUP + group)
        for group, role in sorted(rules.groups.items())
        if group in groups
    ]
    if (domain := domain_of(email)) in rules.domains:
        found.append(Granted(role=rules.domain_role, by=BY_DOMAIN + domain))
    return max(found, key=lambda each: each.role.rank, default=None)


def is_by_rule(by: str) -> bool:
    return by.startswith((BY_DOMAIN, BY_GROUP))
