"""The embedded cluster: a real Slurm for one machine, started and kept by `clusterra up`.

    clusterra up        the supervisor: prepares, prints, and whose end is the end of everything
    └── unshare         makes the namespaces
        └── guard       process 1 in there: mounts, starts, probes, restarts, stops
            ├── mariadbd, slurmdbd, slurmctld, slurmrestd
            ├── clusterra serve
            ├── clusterra agent
            └── slurmd of each worker the agent started, and the jobs under them

`rootfs` finds or builds the file system the daemons live in, `state` is the
directory of one cluster, `daemons` says what runs as data, `guard` runs it, and
`gate` decides when jobs may start. `fleet` says what workers there may be; which
there are is up to the queue, and the agent starts them.
"""
