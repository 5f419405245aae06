#!/bin/sh
# Clusterra's ear in Slurm: notes that something happened to a job, and is gone.
#
# One program for PrologSlurmctld, EpilogSlurmctld, Prolog, Epilog and jobcomp/script. It
# writes a few facts about the job, never its script, environment or output, into the
# directory it lies in, by a rename: whoever reads there sees a whole file or none. It
# ends with 0 whatever happens, because Slurm would hold the job or drain the node.
#
# From a prolog of your own:  CLUSTERRA_SPOOL=/var/spool/clusterra /var/spool/clusterra/hook.sh

spool=${CLUSTERRA_SPOOL:-${0%/*}}
umask 077
PATH=/usr/bin:/bin

if [ -n "$SLURM_SCRIPT_CONTEXT" ]; then
    hook=$SLURM_SCRIPT_CONTEXT
    job=$SLURM_JOB_ID restarts=$SLURM_JOB_RESTART_COUNT node=$SLURMD_NODENAME
    set -- "NAME=$SLURM_JOB_NAME" "USER=$SLURM_JOB_USER" "ACCOUNT=$SLURM_JOB_ACCOUNT" \
        "PARTITION=$SLURM_JOB_PARTITION" "NODES=$SLURM_JOB_NODELIST" \
        "EXIT=$SLURM_JOB_EXIT_CODE" "STATE=$SLURM_JOB_STATE" \
        "START=$SLURM_JOB_START_TIME" "END=$SLURM_JOB_END_TIME" \
        "ARRAY=$SLURM_ARRAY_JOB_ID" "TASK=$SLURM_ARRAY_TASK_ID"
else
    hook=jobcomp
    job=$JOBID restarts= node=
    set -- "NAME=$JOBNAME" "USER=$USERNAME" "ACCOUNT=$ACCOUNT" \
        "PARTITION=$PARTITION" "NODES=$NODES" \
        "EXIT=$EXITCODE" "STATE=$JOBSTATE" "REASON=$STATEREASONPREV" \
        "SUBMIT=$SUBMIT" "START=$START" "END=$END" \
        "ARRAY=$ARRAYJOBID" "TASK=$ARRAYTASKID"
fi

# What becomes part of a file name is not taken from anybody's word.
case $job in '' | *[!0-9]*) exit 0 ;; esac
case $restarts in *[!0-9]*) restarts= ;; esac
case $hook in *[!a-z_]*) hook=other ;; esac
case $node in *[!A-Za-z0-9_-]*) name=$job.$restarts.$hook.-.$$ ;; *) name=$job.$restarts.$hook.$node.$$ ;; esac

{
    if [ ! -e "$spool/full" ]; then
        # The last word tells a whole file from one that the disk had no room for.
        printf '%s\0' "HOOK=$hook" "JOB=$job" "RESTARTS=$restarts" "NODE=$node" "$@" WHOLE=1 \
            >"$spool/tmp/$name" && mv "$spool/tmp/$name" "$spool/new/$name" && exit 0
        rm -f "$spool/tmp/$name"
    fi
    # A byte for each fact that could not be kept: it fits where a new file does not.
    [ -w "$spool/lost" ] && printf . >>"$spool/lost"
} 2>/dev/null
exit 0
