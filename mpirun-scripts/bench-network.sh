#!/usr/bin/env bash
# Allreduce, broadcast, allgather, reduce-scatter and alltoall of up to 64 MiB between hosts against mpi.jar under several
# settings of Open MPI; allreduce also as fp16, and against plain TCP both ways at once. --hosts a:1,b:1 names the hosts,
# --help lists the flags.
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"
bench network --launcher "$bench_scripts/horovodrun" "$@"
