#!/usr/bin/env bash
# hvd's inner loops under JMH: pack, unpack, conversions to and from halves, sums by type. --help lists the flags.
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"
bench kernels "$@"
