"""Who somebody is, from what their provider says: the address, the name, the groups.

Providers differ here more than anywhere; the guide `sign-in` tells the same from the
admin's side. One rule stands above the quirks: an address counts only if the provider
says that it was verified, since workspaces open to whoever has one of theirs.
"""

from collections.abc import Mapping
from typing import Any

from clusterra.core.errors import Unauthenticated
from clusterra.ports import Claims

_VERIFIED = "email_verified"
_OWNED = "xms_edov"
"""Entra ID's: the owner of the address's domain was verified. It has no `email_verified`."""

_GOOGLE = "https://accounts.google.com"


def prompt_for_another(issuer: str) -> str:
    """Return how a provider is asked to let somebody choose who they are there.

    All know `login`, which asks them to sign in anew, but Google: that one shows its accounts.
    """
    return "select_account" if issuer == _GOOGLE else "login"


def told_enough(claims: Mapping[str, Any], groups_claim: str) -> bool:
    """Say whether an ID token has all that we want to know of a person.

    Okta leaves most of it out where there is an access token to ask with.
    """
    address = "email" in claims and (_VERIFIED in claims or _OWNED in claims)
    groups = not groups_claim or groups_claim in claims or _left_out(claims, groups_claim)
    return address and groups


def person(
    claims: Mapping[str, Any],
    userinfo: Mapping[str, Any],
    *,
    provider: str,
    groups_claim: str,
    id_token: str,
) -> Claims:
    """Return who it is. `userinfo` is about the same subject, or empty."""
    return Claims(
        issuer=str(claims["iss"]),
        subject=str(claims["sub"]),
        email=_address(claims, userinfo, provider),
        name=_text(claims, "name") or _text(userinfo, "name"),
        groups=_groups(claims, userinfo, groups_claim, provider),
        id_token=id_token,
    )


def _address(claims: Mapping[str, Any], userinfo: Mapping[str, Any], provider: str) -> str:
    found = ""
    for said in (claims, userinfo):
        email = _text(said, "email")
        # An address and its verification come from one place: one says nothing of another's.
        if email and _true(said.get(_VERIFIED, said.get(_OWNED))) and _still(claims, said, email):
            return email
        found = found or email
        if email and (_VERIFIED in said or _OWNED in said):
            break  # it says no; what another says does not turn that into a yes
    if found:
        raise Unauthenticated(
            f"{provider} does not say that {found} has been verified as yours.",
            hint=f"Verify the address at {provider}, or use an account of your organisation's, and"
            " sign in again. With Entra ID, an admin has to add the optional claim `xms_edov`.",
            code="email-not-verified",
        )
    # Not `preferred_username`, though it may look like an address: people and their admins
    # change it at will, and nothing that is said about `email` holds for it.
    raise Unauthenticated(
        f"{provider} did not say your e-mail address.",
        hint="An admin should see that the scope `email` is among those asked for, and that your"
        f" account at {provider} has an address.",
        code="no-email",
    )


def _still(claims: Mapping[str, Any], said: Mapping[str, Any], email: str) -> bool:
    """Say whether a verified address can be relied on to be theirs today.

    Anybody may have a Google account under an address elsewhere: verified when it was made,
    and kept when they leave whoever gave them the address. Google answers for its own
    addresses and for those of organisations that it hosts, which `hd` names.
    """
    hosted = bool(_text(said, "hd")) or email.lower().endswith("@gmail.com")
    return claims["iss"] != _GOOGLE or hosted


def _groups(
    claims: Mapping[str, Any], userinfo: Mapping[str, Any], claim: str, provider: str
) -> tuple[str, ...]:
    if not claim:
        return ()
    if claim not in claims and _left_out(claims, claim):
        # Without them somebody would lose a role that they have, and nobody would know why.
        raise Unauthenticated(
            f"You are in so many groups that {provider} leaves them out of its token.",
            hint="An admin should have it send only the groups assigned to this application.",
            code="groups-left-out",
        )
    listed = claims.get(claim, userinfo.get(claim))
    several = listed if isinstance(listed, list) else [listed]
    return tuple(each for each in several if isinstance(each, str) and each)


def _left_out(claims: Mapping[str, Any], claim: str) -> bool:
    """Say whether the claim is only referred to, as Entra ID does beyond 200 groups."""
    elsewhere = claims.get("_claim_names")
    return isinstance(elsewhere, dict) and claim in elsewhere


def _true(value: object) -> bool:
    """Read a yes. Some providers send it as text, and Entra ID sends `xms_edov` as 1 or "1"."""
    return value in (True, 1, "true", "1")


def _text(said: Mapping[str, Any], claim: str) -> str:
    value = said.get(claim)
    return value.strip() if isinstance(value, str) else ""
