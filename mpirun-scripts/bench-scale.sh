#!/usr/bin/env bash
# What a step costs the engine with 2 to 256 ranks as threads of one JVM, following its fixed plan and negotiating.
# --help lists the flags.
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"
bench scale "$@"
