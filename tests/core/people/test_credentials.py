"""Of a secret only its hash is kept."""

from clusterra.core.people.credentials import hash_of


def test_a_hash_is_the_same_each_time_and_says_nothing_of_the_secret() -> None:
    assert hash_of("clt_one") == hash_of("clt_one")
    assert hash_of("clt_one") != hash_of("clt_onf")
    assert "clt_" not in hash_of("clt_one")
    assert len(hash_of("clt_one")) == 64
