#!/usr/bin/env bash
# Allreduce from 4 bytes to 256 MiB against mpi.jar under several settings of Open MPI and against LibTorch's Gloo:
# hvd's collective, the same on a float[], and a blocking call through the whole engine. --help lists the flags.
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"
bench allreduce "$@"
