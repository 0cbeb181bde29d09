#!/usr/bin/env bash
# Times what hvd's aims are about (start, training step, gradients, allreduce) and prints the table of aims, each met or
# missed. All other lines go to a file, from which bench-report.sh makes the tables and plots of docs/records/benchmarks.md.
#
#   bench-all.sh [--quick | --repeat N] [--hosts LIST] [--out FILE]
#
#   --quick      few rounds and one launch of each kind, in less than ten minutes on two quiet cores
#   --repeat N   N launches of each kind instead of each benchmark's own number; the start has its own in any case
#   --hosts LIST hosts for the benchmark of the network, such as a:1,b:1; localhost:2 unless said
#   --out FILE   file for what the benchmarks print, which is overwritten; bench-results.txt unless said
#
# A launch during which other programs had more than a tenth of the processors is repeated, at most twice with
# BENCH_TRIES=3 (default) and never with BENCH_TRIES=1.
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"

quick=false out=bench-results.txt repeat=() hosts=()
while (($# > 0)); do
    case $1 in
        --help)
            sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
            exit 0
            ;;
        --quick) quick=true ;;
        --out | --repeat | --hosts)
            (($# > 1)) || bench_fail "$1 needs a value"
            case $1 in
                --out) out=$2 ;;
                --repeat) repeat=(--repeat "$2") ;;
                --hosts) hosts=(--hosts "$2") ;;
            esac
            shift
            ;;
        *) bench_fail "unknown flag $1; --help lists them" ;;
    esac
    shift
done
if [[ $quick == true ]] && ((${#repeat[@]} + ${#hosts[@]} > 0)); then
    bench_fail "--quick has its own numbers of launches and no network; it goes with neither --repeat nor --hosts"
fi

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
    timed allreduce --ranks 2 --sizes 256K,1M,4M,16M --rounds 16 --repeat 1 --only default
else
    timed start
    for each in training gradients allreduce scale kernels; do timed "$each" "${repeat[@]}"; done
    timed network "${repeat[@]}" "${hosts[@]}"
fi
echo
(bench aims "$out")
if ((${#failed[@]} > 0)); then bench_fail "failed: ${failed[*]}"; fi
