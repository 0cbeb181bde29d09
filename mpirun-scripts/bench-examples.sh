#!/usr/bin/env bash
# Runs every example's quick runs on 1, 2 and 4 ranks and on four threads, prints a table of them, and with --page
# docs/records/examples.md writes it there if no run has failed. --help lists the flags.
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"
bench examples --launcher "$bench_scripts/horovodrun" "$@"
