"""What is locked can be read by who has the key, and by nobody else."""

import os
import stat
from pathlib import Path

import pytest

from clusterra.adapters.vault import LocalVault, open_vault
from clusterra.core.errors import Invalid, Refused
from clusterra.core.events.ed25519 import is_signed


def test_what_was_locked_is_read_again_and_looks_different_each_time() -> None:
    vault = LocalVault(os.urandom(32))

    once, twice = vault.lock("whsec_é"), vault.lock("whsec_é")

    assert once != twice
    assert "whsec" not in once
    assert vault.unlock(once) == vault.unlock(twice) == "whsec_é"


@pytest.mark.parametrize(
    "change", [lambda text: text[:-4] + "AAA=", lambda _: "", lambda _: "v1.é"]
)
def test_what_was_changed_or_locked_elsewhere_is_refused(change: object) -> None:
    vault, other = LocalVault(os.urandom(32)), LocalVault(os.urandom(32))
    locked = vault.lock("secret")

    for vault_, text in ((other, locked), (vault, change(locked))):  # type: ignore[operator]
        with pytest.raises(Refused) as refused:
            vault_.unlock(text)
        assert refused.value.code == "locked-with-another-key"
        assert "secret cannot be read" in refused.value.detail


def test_a_locked_seed_signs() -> None:
    vault = LocalVault(os.urandom(32))

    signer = vault.signer(vault.lock(os.urandom(32).hex()))

    assert is_signed(b"message", signer.sign(b"message"), signer.public)


def test_the_key_is_made_once_for_us_alone(tmp_path: Path) -> None:
    path = tmp_path / "webhooks.key"
    locked = open_vault(path).lock("secret")

    assert open_vault(path).unlock(locked) == "secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_of_another_length_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "webhooks.key"
    path.write_bytes(b"short")

    with pytest.raises(Invalid, match="has 5 bytes, not 32"):
        open_vault(path)
