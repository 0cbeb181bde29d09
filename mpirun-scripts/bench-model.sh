#!/usr/bin/env bash
# A cost model of allreduces, fitted to times of some sizes and jobs and compared with times of others; --predict says what
# jobs would take that nobody measures. --help lists the flags.
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"
bench model --launcher "$bench_scripts/horovodrun" "$@"
