#!/usr/bin/env bash
# Trains the mnist example with each way of averaging gradients, with processes and with threads, and prints a table: final
# loss and accuracy, samples per second, what a rank sends per step, and its peak memory. Every run sees batches of 64
# samples of all ranks together and the same learning rate, so that losses can be compared.
#
#   bench-optimizers.sh [--ranks 1,2,4] [--threads 4] [--epochs 6] [--only WAY] [-- FLAG ...]
#
#   --ranks ...    numbers of processes under horovodrun
#   --threads N    ranks as threads of one process; 0 for none
#   --epochs N     epochs of each run
#   --only WAY     only the ways whose names contain this
#   -- FLAG ...    further flags of mnist, such as --data-dir /data/mnist; it draws its digits otherwise
set -euo pipefail
# shellcheck source=mpirun-scripts/bench/run.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/bench/run.sh"

jar=$(dirname "$bench_scripts")/hvd-examples/target/train.jar
ranks=1,2,4 threads=4 epochs=6 only=''
while (($# > 0)); do
    case $1 in
        --help)
            sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
            exit 0
            ;;
        --ranks | --threads | --epochs | --only)
            (($# > 1)) || bench_fail "$1 needs a value"
            case $1 in --ranks) ranks=$2 ;; --threads) threads=$2 ;; --epochs) epochs=$2 ;; --only) only=$2 ;; esac
            shift
            ;;
        --)
            shift
            break
            ;;
        *) bench_fail "unknown flag $1; --help lists them" ;;
    esac
    shift
done
[[ $ranks =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ && $threads =~ ^[0-9]+$ && $epochs =~ ^[1-9][0-9]*$ ]] \
    || bench_fail "found --ranks $ranks --threads $threads --epochs $epochs, expected numbers"
[[ -f $jar ]] || bench_fail "nothing is built yet: run mvn -DskipTests package first"
use_jdk
use_mpi

declare -A flags=(
    [float32]=''
    [fp16]='--fp16-allreduce'
    ['autocast bf16, AmpOptimizer']='--amp bf16'
    [Adasum]='--use-adasum'
    [ShardedOptimizer]='--sharded-optimizer'
    ['PowerSGD, rank 2']='--power-sgd 2'
    [Int8]='--int8'
    ['2 passes per step']='--backward-passes-per-step 2'
    ['2 passes by noSync']='--backward-passes-per-step 2 --no-sync'
)
ways=(float32 fp16 'autocast bf16, AmpOptimizer' Adasum ShardedOptimizer 'PowerSGD, rank 2' Int8 '2 passes per step' '2 passes by noSync')
total_batch=64
total_rate=0.04

# one WAY RANKS KIND FLAG ...: a run, and its row of the table.
one() {
    local way=$1 count=$2 kind=$3 passes=1 rate output line sent
    shift 3
    if [[ ${flags[$way]} == *per-step* ]]; then passes=2; fi
    # mnist multiplies the rate by the number of ranks, but for Adasum.
    rate=$(LC_ALL=C awk -v r="$total_rate" -v n="$([[ $way == Adasum ]] && echo 1 || echo "$count")" 'BEGIN { printf "%.6f", r / n }')
    # shellcheck disable=SC2206 # several words
    local -a command=(java -jar "$jar" mnist --epochs "$epochs" --batch-size $((total_batch / count / passes)) --lr "$rate" ${flags[$way]} "$@")
    if [[ $kind == threads ]]; then
        output=$("${command[@]}" --threads "$count" 2>&1) || { printf '%s\n' "$output" >&2; return 1; }
    else
        output=$("$bench_scripts/horovodrun" -np "$count" "${command[@]}" 2>&1) || { printf '%s\n' "$output" >&2; return 1; }
    fi
    line=$(grep -a '^RESULT ' <<<"$output")
    sent=$(sed -nE 's/^each rank has sent ([0-9.]+) KiB.*MiB: \[([0-9, ]*)\]$/\1 | \2/p' <<<"$output")
    printf '| %s | %s %s | %s | %s | %s | %s |\n' "$way" "$count" "$kind" \
        "$(sed -E 's/.* loss=([0-9.]+).*/\1/' <<<"$line")" "$(sed -E 's/.* accuracy=([0-9.]+).*/\1/' <<<"$line")" \
        "$(sed -E 's/.* samples_per_second=([0-9.]+).*/\1/' <<<"$line")" "$sent"
}

printf '| way | ranks | test loss | accuracy | samples/s | KiB sent per step and rank | peak MiB by rank |\n|---|---|---|---|---|---|---|\n'
for way in "${ways[@]}"; do
    [[ $way == *"$only"* ]] || continue
    for count in ${ranks//,/ }; do one "$way" "$count" processes "$@"; done
    if ((threads > 0)); then one "$way" "$threads" threads "$@"; fi
done
