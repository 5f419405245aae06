"""Links to S3 as AWS itself would sign them, and what is said where a bucket cannot be reached."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from clusterra.adapters.aws.credentials import Credentials
from clusterra.adapters.aws.signature import presigned
from clusterra.adapters.clock import SystemClock
from clusterra.adapters.file_stores import retention_of, store_of
from clusterra.adapters.objects_s3 import S3Objects
from clusterra.adapters.objects_s3.bucket import Bucket
from clusterra.core.errors import Invalid, Refused, Unreachable
from clusterra.settings import ClusterSettings, FileSettings, Settings
from tests.objects import cargo
from tests.s3 import ENVIRON

EXAMPLE = Credentials(
    key_id="AKIAIOSFODNN7EXAMPLE", secret="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)
THEN = datetime(2013, 5, 24, tzinfo=UTC)
HERE = ClusterSettings(id="cluslab1", slurm="http://slurm", jwt_key=Path("key"))


def test_a_link_is_signed_as_in_the_example_of_the_manual() -> None:
    url = presigned(
        "GET",
        "https://examplebucket.s3.amazonaws.com/test.txt",
        {},
        {},
        by=EXAMPLE,
        region="us-east-1",
        at=THEN,
        lasts=timedelta(days=1),
    )

    assert parse_qs(urlsplit(url).query)["X-Amz-Signature"] == [
        "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    ]


def objects(environ: dict[str, str], endpoint: str = "") -> S3Objects:
    clock = SystemClock()
    bucket = Bucket("files", region="eu-west-1", endpoint=endpoint, environ=environ, clock=clock)
    return S3Objects(bucket, prefix="a/cluslab1/", clock=clock)


def test_length_type_and_checksum_stand_under_the_signature() -> None:
    link = asyncio.run(objects(ENVIRON).presign_put("ana@lab.example/data/x y", cargo(b"12345")))
    parts = urlsplit(link.url)

    assert parts.netloc == "files.s3.eu-west-1.amazonaws.com"
    assert parts.path == "/a/cluslab1/ana%40lab.example/data/x%20y"
    assert parse_qs(parts.query)["X-Amz-SignedHeaders"] == [
        "content-length;content-type;host;x-amz-checksum-sha256;x-amz-meta-sha256"
    ]
    assert "content-length" not in {name.lower() for name in link.headers}


def test_without_credentials_it_is_said_where_to_put_some() -> None:
    nothing = {"AWS_EC2_METADATA_DISABLED": "true"}

    with pytest.raises(Refused, match="no AWS credentials here to reach the bucket") as refused:
        asyncio.run(objects(nothing).presign_put("x", cargo(b"")))

    assert "AWS_ACCESS_KEY_ID" in refused.value.hint


@pytest.mark.enable_socket
def test_a_bucket_that_nobody_answers_for_is_unreachable() -> None:
    async def story() -> None:
        made = objects(ENVIRON, "http://127.0.0.1:1")
        try:
            with pytest.raises(Unreachable, match=r"asked for files at 127\.0\.0\.1:1"):
                await made.list("x/")
        finally:
            await made.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (FileSettings(source="ftp"), "cannot be 'ftp'"),
        (FileSettings(source="s3"), "files.bucket has to name the bucket"),
        (FileSettings(outputs_days=-1), "cannot be kept for -1 days"),
    ],
)
def test_settings_that_cannot_be_are_refused_at_the_start(files: FileSettings, why: str) -> None:
    def start() -> None:
        store_of(HERE, Settings(files=files), SystemClock())
        retention_of(files)

    with pytest.raises(Invalid, match=why):
        start()


def test_a_cluster_somewhere_else_has_no_place_unless_there_is_a_bucket() -> None:
    nowhere = store_of(HERE, Settings(), SystemClock())
    bucket = store_of(
        HERE, Settings(files=FileSettings(source="s3", bucket="b", mount="/efs")), SystemClock()
    )

    assert nowhere is None
    assert bucket is not None
    assert bucket.key_at("/efs/ana@lab.example/outputs/x") == "ana@lab.example/outputs/x"
    assert bucket.key_at("/home/ana/x") is None
