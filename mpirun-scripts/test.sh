#!/usr/bin/env bash
# The whole test suite on a bare Debian or Ubuntu: set-up, then everything that Maven's verify runs, the tests under
# mpirun included, then the small project of docs/own-trainer against the artifacts just installed.
# Arguments go to the first Maven call (test.sh -pl hvd-core)
set -euo pipefail

scripts="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" >/dev/null && pwd)"
root=$(dirname "$scripts")
# shellcheck source=mpirun-scripts/setup.sh
. "$scripts/setup.sh"

# With it the kernels of the GPU part run on the CPU; without it those tests are skipped.
has c++ || ! can_install || install_packages g++ || say "going on without a C++ compiler"

maven=(mvn -B)
if [[ ${CI:-} == true ]]; then maven+=(-ntp); fi

"${maven[@]}" -f "$root/pom.xml" install "$@"
if [[ -d $root/docs/own-trainer ]]; then "${maven[@]}" -f "$root/docs/own-trainer/pom.xml" verify; fi
