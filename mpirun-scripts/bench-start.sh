#!/usr/bin/env bash
# horovodrun until every rank has done init, and has ended its first training step. --help lists the flags.
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"
bench start --launcher "$bench_scripts/horovodrun" "$@"
