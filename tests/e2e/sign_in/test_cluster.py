"""The whole way, once: a cluster from `clusterra up --oidc`, a browser, a terminal, a job."""

import shutil
from pathlib import Path

from tests.browser import Browser
from tests.cluster import VARIANT, Land
from tests.e2e.sign_in.place import Place, free_port
from tests.provider.run import certified_provider


def test_who_signs_in_by_the_provider_runs_a_job_as_themselves(
    browser: Browser, land: Land, tmp_path: Path
) -> None:
    port = free_port()
    state, secret = land.home / f"up-{tmp_path.name}", land.home / f"secret-{tmp_path.name}"
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\nid -un\n")
    with certified_provider(
        redirect_uris=[f"http://127.0.0.1:{port}/auth/callback"],
        accounts={"ana@lab.example": {"name": "Ana"}},
    ) as provider:
        secret.write_text(provider.client_secret)
        secret.chmod(0o644)  # whoever runs the cluster may be another user than this test
        running = land.up(
            state,
            *("--port", str(port)),
            *("--oidc", provider.issuer, "--oidc-client-id", provider.client_id),
            *("--oidc-client-secret-file", str(secret), "--oidc-domain", "lab.example"),
            workers=1,
        )
        place = Place(
            url=running.url, state=running.path, homes=tmp_path / "homes", provider="localhost"
        )
        terminal = place.terminal("ana")
        try:
            with browser.page() as page:
                place.arrive(page, "ana@lab.example")
                place.let_in(page, terminal)
            wrote = terminal.ok("jobs", "submit", "--wait", str(script))
        finally:
            place.close()
            running.down()
            shutil.rmtree(running.path)

    if VARIANT != "user":  # without root every job runs as one Linux user
        assert "ana" in wrote.split()
