"""The Objects port over a bucket: links go straight to it, and we only list and tidy."""

from clusterra.adapters.objects_s3.objects import S3Objects as S3Objects
