"""Reservations and licences as slurmrestd has them."""

import msgspec

from clusterra.adapters.slurmrest.decode import Amount, Envelope, moment, whole
from clusterra.adapters.slurmrest.limits import names
from clusterra.core.limits import Licence, Reservation


class ReservationInfo(msgspec.Struct, frozen=True):
    name: str = ""
    start_time: Amount = None
    end_time: Amount = None
    node_list: str = ""
    users: str = ""
    accounts: str = ""
    partition: str = ""
    flags: list[str] = []


class ReservationsReply(Envelope, frozen=True):
    reservations: list[msgspec.Raw] | None = None


class LicenceInfo(msgspec.Struct, frozen=True, rename="pascal"):
    license_name: str = ""
    total: Amount = None
    used: Amount = None
    free: Amount = None
    reserved: Amount = None


class LicencesReply(Envelope, frozen=True):
    licenses: list[msgspec.Raw] | None = None


def reservation(found: ReservationInfo) -> Reservation:
    return Reservation(
        name=found.name,
        starts_at=moment(found.start_time),
        ends_at=moment(found.end_time),
        nodes=found.node_list,
        users=names(found.users),
        accounts=names(found.accounts),
        partition=found.partition,
        flags=tuple(found.flags),
    )


def licence(found: LicenceInfo) -> Licence:
    return Licence(
        name=found.license_name,
        total=whole(found.total) or 0,
        used=whole(found.used) or 0,
        free=whole(found.free) or 0,
        reserved=whole(found.reserved) or 0,
    )
