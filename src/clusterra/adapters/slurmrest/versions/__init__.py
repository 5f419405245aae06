"""The API versions we speak, newest first: the first one a server offers is used."""

from clusterra.adapters.slurmrest.versions import v0_0_42, v0_0_43, v0_0_44, v0_0_45
from clusterra.adapters.slurmrest.versions.dialect import Dialect as Dialect

KNOWN = (v0_0_45.DIALECT, v0_0_44.DIALECT, v0_0_43.DIALECT, v0_0_42.DIALECT)
