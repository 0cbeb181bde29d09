#!/usr/bin/env bash
# Images per second of the MNIST net and of a small ResNet, against LibTorch without hvd, processes that do not
# communicate, and LibTorch's DDP reducer on Gloo, in turn in the same processes. --help lists the flags.
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"
bench training "$@"
