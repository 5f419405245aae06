"""The settings file of the control plane of an embedded cluster, as text."""

import json
from pathlib import Path

from clusterra.local.fleet import LocalFleet
from clusterra.local.state import Oidc, State

WORKSPACE = "clusterra"
"""The workspace of an embedded cluster, and the Slurm account that its people are put into."""

Value = str | int | bool | Path | tuple[str, ...] | dict[str, str]


def settings_toml(
    state: State,
    *,
    cluster: str,
    port: int,
    slurm: str,
    service_user: str,
    user: str,
    single: bool,
    started_at: int,
    owner: str,
    oidc: Oidc | None,
    fleet: LocalFleet,
) -> str:
    tables: dict[str, dict[str, Value]] = {
        "[server]": {"host": "127.0.0.1", "port": port, "state": state.path, "owner": owner},
        "[[workspaces]]": {
            "id": WORKSPACE,
            "name": "local",
            "domains": oidc.domains if oidc else (),
        },
        "[[clusters]]": {
            "id": cluster,
            "name": "local",
            "slurm": slurm,
            "jwt_key": state.slurm_conf / "jwt_hs256.key",
            "service_user": service_user,
            "user": user,
            "account": WORKSPACE,
        },
        "[clusters.embedded]": {
            "root": state.path,
            "single_user": single,
            "largest_cpus": max((shape.cpus for shape in fleet.shapes.values()), default=0),
            "largest_memory_mib": max(
                (shape.memory_mib for shape in fleet.shapes.values()), default=0
            ),
            "started_at": started_at,
        },
        **_scaling(fleet),
    }
    if oidc is not None:
        tables["[oidc]"] = {"issuer": oidc.issuer, "client_id": oidc.client_id}
        if oidc.client_secret_file:
            tables["[oidc]"]["client_secret_file"] = oidc.client_secret_file
    blocks = ["# Written by `clusterra up` at each start."]
    for head, values in tables.items():
        lines = [f"{key} = {_value(value)}" for key, value in values.items()]
        blocks.append("\n".join([head, *lines]))
    return "\n\n".join(blocks) + "\n"


def _scaling(fleet: LocalFleet) -> dict[str, dict[str, Value]]:
    if fleet.fixed is None or fleet.workers is None:
        return {"[clusters.scaling]": {"architectures": (fleet.arch,)}}
    shape = fleet.fixed
    return {
        "[clusters.scaling]": {
            "architectures": (fleet.arch,),
            "only_these": True,
            "max_workers": fleet.workers,
            # One too many, of an earlier start that had more, is not waited for.
            "idle_seconds": 0,
            "minimum": {shape.name: str(fleet.workers)},
        },
        "[[clusters.scaling.shapes]]": {
            "name": shape.name,
            "arch": shape.arch,
            "vcpus": shape.vcpus,
            "memory_gib": shape.memory_gib,
            "cpus": shape.cpus,
            "memory_mib": shape.memory_mib,
            "types": shape.types,
        },
    }


def _value(value: Value) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(each)}" for key, each in value.items()) + " }"
    # A string of JSON is a string of TOML, as long as letters are left as they are.
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
