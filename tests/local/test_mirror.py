"""The mirror is the one most package lists come from."""

from clusterra.local.mirror import most_used


def test_the_most_frequent_source_of_package_lists_is_first() -> None:
    answer = (
        "http://security.example/debian-security/ Packages\n"
        "http://mirror.example/debian/ Packages\n"
        "http://mirror.example/debian/ Packages\n"
        "http://other.example/debian/ DEP-11\n"
        "http://other.example/debian/ DEP-11\n"
        "http://other.example/debian/ DEP-11\n"
    )

    assert most_used(answer).most_common(1)[0][0] == "http://mirror.example/debian/"


def test_no_lists_is_no_mirror() -> None:
    assert not most_used("")
