#!/usr/bin/env bash
# Writes the tables and plots of docs/records/benchmarks.md from what the other bench-*.sh have printed: bench-report.sh results.txt
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"
if [[ $# -ne 1 || $1 == -* ]]; then
    echo "bench-report.sh results.txt: writes docs/records/benchmarks.md and docs/records/img from the RESULT lines in that file"
    [[ ${1:-} == --help ]] && exit 0
    exit 2
fi
bench report "$1" "$(dirname "$bench_scripts")/docs/records/benchmarks.md"
