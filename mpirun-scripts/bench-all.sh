#!/usr/bin/env bash
# Times what hvd's aims are about (start, training step, gradients, allreduce) and prints the table of aims, each met or
# missed. All other lines go to a file, from which bench-report.sh makes the tables and plots of docs/benchmarks.md.
#
#   bench-all.sh [--quick] [--out FILE]
#
#   --quick     few rounds and one launch of each kind, in less than ten minutes on two quiet cores, instead of an hour
#   --out FILE  file for what the benchmarks print, which is overwritten; bench-results.txt unless said
#
# A launch during which other programs had more than a tenth of the processors is repeated, at most twice with
# BENCH_TRIES=3 (default) and never with BENCH_TRIES=1.
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"

quick=false out=bench-results.txt
while (($# > 0)); do
    case $1 in
        --help)
            sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
            exit 0
            ;;
        --quick) quick=true ;;
        --out)
            (($# > 1)) || bench_fail "$1 needs a value"
            out=$2
            shift
            ;;
        *) bench_fail "unknown flag $1; --help lists them" ;;
    esac
    shift
done

# timed NAME FLAG ...: a benchmark, whose lines are kept; one that fails is told, and the others go on.
timed() {
    "$bench_scripts/bench-$1.sh" "${@:2}" | tee -a "$out" || failed+=("$1")
}

failed=()
: >"$out"
if [[ $quick == true ]]; then
    timed start --repeat 3
    timed training --ranks 2 --rounds 60 --repeat 1
    timed gradients --ranks 2,4 --rounds 10 --repeat 1
    timed allreduce --ranks 2 --sizes 256K,1M,4M,16M --rounds 8 --repeat 1 --only default
else
    for each in start training gradients allreduce network scale kernels; do timed "$each"; done
fi
echo
(bench aims "$out")
if ((${#failed[@]} > 0)); then bench_fail "failed: ${failed[*]}"; fi
