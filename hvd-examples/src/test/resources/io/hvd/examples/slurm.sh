#!/bin/bash
# A real Slurm on the hosts of namespaces.sh, for tests: slurmctld on the first host, a slurmd on each. Nothing outside
# FOLDER is written. Needs root and the Debian packages slurm-wlm, munge and libpmix-dev.
#
#   slurm.sh FOLDER NAMESPACES up node-a node-b node-c   returns when all nodes are idle; NAMESPACES is namespaces.sh. The third
#                                                        has half of the processors, and is in a partition with the first
#   slurm.sh FOLDER NAMESPACES batch FILE...       submits FILE with its arguments on the first host, waits for its end
#   slurm.sh FOLDER NAMESPACES interrupt WORDS FILE...   the same, but sends SIGTERM to its steps when it has printed WORDS
#   slurm.sh FOLDER NAMESPACES down
set -euo pipefail
folder=$1 namespaces=$2 action=$3
shift 3
export SLURM_CONF=$folder/slurm/slurm.conf

on() { "$namespaces" "$folder" on "$@"; }

# Tries a command for twenty seconds.
await() {
    local attempt
    for ((attempt = 0; attempt < 200; attempt++)); do
        if "$@"; then return; else sleep 0.1; fi
    done
    tail -n 20 "$folder"/slurm/*.log >&2
    echo "slurm.sh: in vain: $*" >&2
    exit 1
}

# Starts a daemon that stays in the foreground and notes its process; not by "on", whose process would be a shell.
start() {
    local name=$1
    shift
    "$@" </dev/null >"$folder/slurm/$name.log" 2>&1 &
    echo $! >"$folder/slurm/$name.pid"
}

configuration() {
    local number=0 host
    printf '%s\n' ClusterName=test "SlurmctldHost=$1(10.71.0.1)" SlurmctldPort=16917 SlurmdPort=16918 SlurmUser=root \
        SlurmdUser=root AuthType=auth/munge "AuthInfo=socket=$folder/slurm/munge.sock,cred_expire=5" \
        "StateSaveLocation=$folder/slurm/state" "SlurmdSpoolDir=$folder/slurm/spool.%n" \
        "SlurmctldPidFile=$folder/slurm/ctld" "SlurmdPidFile=$folder/slurm/slurmd.%n" ProctrackType=proctrack/linuxproc \
        TaskPlugin=task/none JobAcctGatherType=jobacct_gather/none AccountingStorageType=accounting_storage/none \
        SelectType=select/cons_tres SelectTypeParameters=CR_Core MpiDefault=none ReturnToService=2 KillWait=5 \
        SlurmdParameters=config_overrides PropagateResourceLimits=NONE MailProg=/bin/true
    for host; do
        number=$((number + 1))
        echo "NodeName=$host NodeAddr=10.71.0.$number CPUs=$((number < 3 ? 4 : 2)) RealMemory=2000 State=UNKNOWN"
    done
    echo "PartitionName=main Nodes=$1,$2 Default=YES MaxTime=INFINITE State=UP"
    echo "PartitionName=mixed Nodes=$1,$3 MaxTime=INFINITE State=UP"
}

all_idle() { [[ $(on "$1" sinfo -h -o '%t %D' 2>/dev/null) == "idle $#" ]]; }

up() {
    local host
    mkdir -p "$folder/slurm/state"
    chmod 755 "$folder" "$folder/slurm"
    head -c 128 /dev/urandom >"$folder/slurm/key"
    chmod 400 "$folder/slurm/key"
    configuration "$@" >"$SLURM_CONF"
    echo 'CgroupPlugin=cgroup/v1' >"$folder/slurm/cgroup.conf"
    start munged munged --foreground --force --key-file="$folder/slurm/key" --socket="$folder/slurm/munge.sock" \
        --pid-file="$folder/slurm/munged" --seed-file="$folder/slurm/seed" --num-threads=2
    await test -S "$folder/slurm/munge.sock"
    start slurmctld "$namespaces" "$folder" on "$1" slurmctld -D -f "$SLURM_CONF"
    for host; do
        # The hosts share /tmp, where PMIx would give two steps of one job the same folder.
        mkdir -p "$folder/slurm/$host" "$folder/slurm/pmix.$host"
        cp "$SLURM_CONF" "$folder/slurm/cgroup.conf" "$folder/slurm/$host/"
        echo "PMIxCliTmpDirBase=$folder/slurm/pmix.$host" >"$folder/slurm/$host/mpi.conf"
        start "slurmd-$host" "$namespaces" "$folder" on "$host" slurmd -D -f "$folder/slurm/$host/slurm.conf"
    done
    await all_idle "$@"
}

has_ended() { [[ -z $(squeue -h -j "$1" -t all -o %T | grep -vE 'COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL') ]]; }

# The three run on the first host.
submit() { sbatch --parsable -o "$folder/slurm/batch.%j.out" "$@"; }

# sbatch --wait would ask for the end every half a minute only.
await_end() {
    local job=$1
    until has_ended "$job"; do sleep 0.2; done
    scontrol -o show job "$job" | sed 's/.*\(JobState=[A-Z_]*\).*/\1/'
    cat "$folder/slurm/batch.$job.out"
    exit "$(scontrol -o show job "$job" | sed 's/.* ExitCode=\([0-9]*\):.*/\1/')"
}

interrupt() {
    local job words=$1
    shift
    job=$(submit "$@")
    until has_ended "$job" || grep -qF -- "$words" "$folder/slurm/batch.$job.out" 2>/dev/null; do sleep 0.2; done
    scancel --signal=TERM "$job" || true
    await_end "$job"
}

# Returns when every daemon has ended.
down() {
    local file pid
    for file in "$folder"/slurm/slurmd-*.pid "$folder"/slurm/slurmctld.pid "$folder"/slurm/munged.pid; do
        [[ -e $file ]] || continue
        pid=$(<"$file")
        kill "$pid" 2>/dev/null || true
        for ((attempt = 0; attempt < 100; attempt++)); do
            if [[ -e /proc/$pid ]]; then sleep 0.1; else break; fi
        done
        kill -9 "$pid" 2>/dev/null || true
    done
}

case $action in
    up) up "$@" ;;
    batch) await_end "$(submit "$@")" ;;
    interrupt) interrupt "$@" ;;
    down) down ;;
esac
