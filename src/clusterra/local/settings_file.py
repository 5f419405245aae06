"""The settings file of the control plane of an embedded cluster, as text."""

import json
from pathlib import Path

from clusterra.local.slurm_conf import LARGEST_CPUS, LARGEST_MEMORY_MIB
from clusterra.local.state import Oidc, State

WORKSPACE = "clusterra"
"""The workspace of an embedded cluster, and the Slurm account that its people are put into."""

Value = str | int | bool | Path | tuple[str, ...]


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
            "largest_cpus": LARGEST_CPUS,
            "largest_memory_mib": LARGEST_MEMORY_MIB,
            "started_at": started_at,
        },
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


def _value(value: Value) -> str:
    # A string of JSON is a string of TOML, as long as letters are left as they are.
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
