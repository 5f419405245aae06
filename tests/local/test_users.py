"""The Linux users of a cluster."""

from clusterra.local.users import Person, caller, group, passwd

SHIPPED = (
    "root:x:0:0:root:/root:/bin/bash\n"
    "www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"
    "slurm:x:64030:64030::/:/usr/sbin/nologin\n"
)
ANA = Person(name="ana", uid=1000, gid=1000)


def names(text: str) -> list[str]:
    return [line.split(":")[0] for line in text.splitlines()]


def test_with_root_the_daemons_have_their_own_users() -> None:
    assert names(passwd(SHIPPED, "", None)) == ["root", "www-data", "slurm", "slurmrest"]


def test_people_who_were_added_stay() -> None:
    present = passwd(SHIPPED, "", None) + "ben:x:2001:2001::/home/ben:/bin/bash\n"

    assert passwd(SHIPPED, present, None) == present


def test_without_root_the_one_user_is_there_with_a_home() -> None:
    assert "ana:x:1000:1000::/home/ana:/bin/bash\n" in passwd(SHIPPED, "", ANA)
    assert "ana:x:1000:\n" in group("root:x:0:\n", "", ANA)


def test_nobody_shares_the_uid_or_the_name_of_the_one_user() -> None:
    web = Person(name="www-data", uid=1000, gid=1000)
    unlucky = Person(name="ana", uid=33, gid=33)

    assert names(passwd(SHIPPED, "", web)).count("www-data") == 1
    assert "www-data" not in names(passwd(SHIPPED, "", unlucky))


def test_whoever_called_sudo_is_the_first_person() -> None:
    assert caller({"SUDO_USER": "ana"}, SHIPPED) == "ana"


def test_a_system_user_does_not_submit_jobs() -> None:
    assert caller({"SUDO_USER": "www-data"}, SHIPPED) == "admin"
