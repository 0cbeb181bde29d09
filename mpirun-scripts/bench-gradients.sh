#!/usr/bin/env bash
# The 161 gradients of ResNet-50, and 400 tensors of 4 KiB, submitted last layer first until all are averaged, against
# mpi.jar and Gloo. --help lists the flags.
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"
bench gradients "$@"
