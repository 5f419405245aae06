"""Threads for moving bytes, apart from all others: a slow disk with many uploads must not keep a
question waiting that only wants to know whether a file is there."""

from concurrent.futures import ThreadPoolExecutor

THREADS = ThreadPoolExecutor(max_workers=8, thread_name_prefix="files")
