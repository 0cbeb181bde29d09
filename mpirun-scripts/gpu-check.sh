#!/usr/bin/env bash
# Checks the GPU part of hvd on this machine, each check of docs/records/gpu.md within a time of its own and all of them within
# --limit, and writes a record in Markdown: versions, figures, what passed, failed or could not be run and why. From a
# bundle it builds nothing and downloads nothing.
#
#   gpu-check.sh [FOLDER] [--out FILE] [--limit TIME] [--ranks N] [--only G2,G4] [--again G4] [--check-limit TIME]
#                [--share multi-rank|host-id|multi-rank-host-id] [--any-host] [--quick]
#   gpu-check.sh --page [RECORD ...]
#
#   FOLDER             what bundle.sh made, or a checkout that is built; without it, the one in which this script lies
#   --out FILE         the record, which is complete after every check; a later call with the same FILE goes on where
#                      the first stopped. Without it the record goes to standard output at the end
#   --limit TIME       time for everything: 540, 540s or 9m; 9m if not given
#   --ranks N          ranks of the checks that take several, 2 if not given; more than GPUs share them
#   --only ...         only these checks, of G1 to G9
#   --again ...        repeats these checks although they are in the record; "failed" stands for those that have failed
#   --check-limit TIME time for each check instead of its own limit
#   --share WAY        how NCCL lets ranks share a GPU, by NCCL_MULTI_RANK_GPU_ENABLE (multi-rank), by an NCCL_HOSTID
#                      for each (host-id) or by both (multi-rank-host-id); without it, what the version of NCCL has and
#                      G2 has found to work
#   --any-host         goes on with a record of another host if nothing else differs
#   --quick            small tensors only: shows whether everything works, but not how fast
#   --page RECORD ...  prints what the records have seen as a section of docs/records/gpu.md, and runs nothing
#
# Checks run in the order of their worth: G1, without which no other can pass, takes seconds, and so does G4, the kernels
# on one GPU. G2 is what hvd is for, all collectives by NCCL. G7 gives the figures. G8 trains with LibTorch's build for
# GPUs, if train.jar has that, and G5 with kernels of its own. G9 measures LibTorch's own allreduce beside hvd's. G3 is the
# way without NCCL, which tests have seen on a CPU. G6 runs some of this again, slowly, under compute-sanitizer.
#
# The last line on standard output is RESULT gpu_check=pass|fail|not-run|left. Exit code 0 for pass, 1 for fail, 2 for
# not-run, 3 if --limit has left checks to do. Needs bash, coreutils, grep, sed and awk; python3 is asked for NVIDIA's
# packages if it is there.
set -euo pipefail
shopt -s nullglob

say() { printf 'gpu-check: %s\n' "$*" >&2; }

# Some awks take a comma for the decimal point where the user's language has one, and ldd says "not found" in that language.
awk() { LC_ALL=C command awk "$@"; }
ldd() { LC_ALL=C command ldd "$@"; }

refuse() {
    say "$*"
    exit 2
}

# Seconds for each check, all runs of it together.
declare -A limit=([G1]=50 [G2]=150 [G3]=70 [G4]=40 [G5]=100 [G6]=60 [G7]=90 [G8]=240 [G9]=60)
declare -A title=(
    [G1]='ranks and their GPUs'
    [G2]='collectives by NCCL'
    [G3]='collectives through the host, NCCL hidden'
    [G4]='kernels: bits, share of a copy on the device'
    [G5]='a trainer with its own CUDA kernels'
    [G6]='compute-sanitizer memcheck over G2 and G4'
    [G7]='times and bandwidths of collectives, allreduce beside C'
    [G8]='training with LibTorch on the GPU'
    [G9]="allreduce beside LibTorch's own NCCL"
)
all_checks=(G1 G2 G3 G4 G5 G6 G7 G8 G9)
worth=(G1 G4 G2 G7 G8 G5 G9 G3 G6)
# The first start on a machine may unpack LibTorch, which is 860 MB, before it prints the table of versions.
first_versions_limit=60
versions_limit=20
# What a job may take to end after it was told to, and writing the record.
reserve=6
# A run that tries a way of sharing a GPU has these seconds at least.
shortest_try=4
# Accuracy that ten epochs on the digits reach with 1 to 8 ranks on a CPU, and more.
learned=0.93
# The examples of G8 in the order of their worth, the flags of each, and an accuracy that 1 and 2 ranks surpass on a CPU.
# Each brings its data or draws them. With -amp behind its name it is autocast, with a gradient scaler; with -sharded no rank
# has the whole model.
torch_examples=(digits mnist mnist-amp cifar10 char-lm finetune finetune-sharded)
declare -A training=(
    [digits]='--epochs 10'
    [mnist]='--epochs 6'
    [mnist-amp]='--epochs 6 --amp fp16'
    [cifar10]='--preset quick --epochs 3'
    [char-lm]='--epochs 4'
    [finetune]='--epochs 3'
    [finetune-sharded]='--epochs 3 --fully-shard'
)
declare -A surpassed=([digits]=0.90 [mnist]=0.85 [mnist-amp]=0.85 [cifar10]=0.80 [char-lm]=0.75
    [finetune]=0.80 [finetune-sharded]=0.80)

here="$(cd -- "$(dirname -- "$(readlink -f "${BASH_SOURCE[0]}")")" >/dev/null && pwd)"
for part in libraries runs checks record page; do
    # shellcheck source=/dev/null
    . "$here/gpu/$part.sh"
done

# --- the command line -----------------------------------------------------------------------------------------------------

# Prints a time such as 540, 540s or 9m in seconds; nothing if it is none.
seconds_of() {
    if [[ $1 =~ ^([1-9][0-9]{0,5})([sm]?)$ ]]; then
        if [[ ${BASH_REMATCH[2]} == m ]]; then echo $((BASH_REMATCH[1] * 60)); else echo "${BASH_REMATCH[1]}"; fi
    fi
}

# Fails unless the words, separated by commas, are checks.
require_checks() {
    local flag=$1 each
    shift
    (($# > 0)) || refuse "$flag takes some of ${all_checks[*]}"
    for each; do
        [[ -n ${title[$each]:-} ]] || refuse "$flag takes some of ${all_checks[*]}, not \"$each\""
    done
}

is_chosen() { [[ " ${chosen[*]} " == *" $1 "* ]]; }

script=${BASH_SOURCE[0]}
command_line="${script##*/} $*"
began=$(date -u '+%Y-%m-%d %H:%M UTC')
folder=$(dirname "$here") record='' ranks=2 time=9m check_time='' any_host='' forced_share='' quick=()
chosen=("${all_checks[@]}") again=() to_go_on=()
if [[ ${1:-} == --page ]]; then
    shift
    print_page "$@"
    exit 0
fi
while (($# > 0)); do
    words=("$1")
    case $1 in
        --out | --ranks | --only | --limit | --check-limit | --again | --share)
            (($# > 1)) || refuse "$1 needs a value"
            words+=("$2")
            case $1 in
                --out) record=$2 ;;
                --ranks) ranks=$2 ;;
                --limit) time=$2 ;;
                --check-limit) check_time=$2 ;;
                --share) forced_share=$2 ;;
                --again)
                    IFS=, read -r -a again <<<"$2"
                    words=()
                    ;;
                --only) IFS=, read -r -a chosen <<<"$2" ;;
            esac
            shift
            ;;
        --any-host) any_host=yes ;;
        --quick) quick=(--quick) ;;
        --page) refuse '--page stands first, and only records behind it' ;;
        -*) refuse "unknown flag $1; the head of $script lists them" ;;
        *) folder=$1 ;;
    esac
    to_go_on+=("${words[@]}")
    shift
done
[[ $ranks =~ ^[1-9][0-9]?$ ]] || refuse "--ranks is a number from 1 to 99, not \"$ranks\""
total=$(seconds_of "$time")
[[ -n $total ]] && ((total >= 10)) || refuse "--limit is a time of at least 10 s such as 540, 540s or 9m, not \"$time\""
if [[ -n $check_time ]]; then
    seconds=$(seconds_of "$check_time")
    [[ -n $seconds ]] || refuse "--check-limit is a time such as 60, 60s or 1m, not \"$check_time\""
    for each in "${all_checks[@]}"; do limit[$each]=$seconds; done
fi
case $forced_share in
    '' | multi-rank | host-id | multi-rank-host-id) ;;
    *) refuse "--share is multi-rank, host-id or multi-rank-host-id, not \"$forced_share\"" ;;
esac
require_checks --only "${chosen[@]}"
if [[ ${again[*]} != '' && ${again[*]} != failed ]]; then require_checks --again "${again[@]}"; fi
if [[ -n ${again[*]} && -z $record ]]; then refuse '--again repeats checks of a record; name it with --out'; fi
[[ -d $folder ]] || refuse "there is no folder $folder"
folder=$(cd -- "$folder" && pwd)
if [[ -n $record ]]; then
    # The record is replaced by mv, which would put a file in the place of a device or of a link.
    if [[ -L $record || (-e $record && ! -f $record) ]]; then refuse "--out $record is no plain file"; fi
    was_there=$(if [[ -e $record ]]; then echo yes; fi)
    { : >>"$record"; } 2>/dev/null || refuse "$record cannot be written"
    if [[ -z $was_there ]]; then rm -f "$record"; fi
fi

# --- the programs -------------------------------------------------------------------------------------------------------

if [[ -f $folder/env.sh && -f $folder/train.jar ]]; then
    # shellcheck source=/dev/null
    . "$folder/env.sh"
    jar=$folder/train.jar
elif [[ -f $folder/hvd-examples/target/train.jar ]]; then
    jar=$folder/hvd-examples/target/train.jar
    PATH=$folder/mpirun-scripts:${JAVA_HOME:+$JAVA_HOME/bin:}$PATH
else
    refuse "$folder is neither a bundle nor a checkout that is built: run mvn -DskipTests package there, or bundle.sh"
fi
# The checks set these themselves, where they need them.
unset HVD_BACKEND HVD_SHARE_GPU HVD_PIN_GPU HVD_GPUS_PER_RANK HVD_GPU_STAGE_BYTES
unset NCCL_HOSTID NCCL_MULTI_RANK_GPU_ENABLE NCCL_NVLS_ENABLE
unset HOROVOD_HIERARCHICAL_ALLREDUCE HOROVOD_TORUS_ALLREDUCE HOROVOD_ENABLE_ASYNC_COMPLETION
# Where NCCL refuses something, its own line is worth more than its error's number.
export NCCL_DEBUG=${NCCL_DEBUG:-WARN}
work=$(mktemp -d)
calls=$work/calls
mkdir "$work/sections"
: >"$work/calls-before"
trap 'rm -rf "$work"' EXIT

# --- what is there --------------------------------------------------------------------------------------------------------

declare -A outcome notes
check='' label='' code=0 deadline=0 own_deadline=0 allowed=0 running='' run_outcome='' end=$((total - reserve))
wrapper=() tool=() ran=() left=()

find_libraries
read_versions() {
    code=0
    timeout -k 5 "$1" java -jar "$jar" gpu-check --versions table >"$work/versions" 2>"$work/err" \
        </dev/null || code=$?
    gpus=$(grep -cE '^GPU [0-9]+ ' "$work/versions" || true)
    no_gpu=$(sed -nE 's/^GPU  +missing: /no GPU: /p' "$work/versions")
}
read_versions $((first_versions_limit < total ? first_versions_limit : total))
if [[ $gpus == 0 && -z $no_gpu ]] && ((SECONDS < total)); then read_versions "$versions_limit"; fi
cat "$work/versions" >&2
if [[ $gpus == 0 && -z $no_gpu ]]; then
    if [[ -s $work/err ]]; then say "java -jar $jar gpu-check --versions table printed: $(tail -n 1 "$work/err")"; fi
    refuse "the table of versions could not be read (exit code $code), so that no check was begun and no record written"
fi
no_nccl=$(sed -nE 's/^NCCL  +missing: /no NCCL: /p' "$work/versions")
nccl_code=$(sed -nE 's/^NCCL  +([0-9]+)\.([0-9]+)\.([0-9]+).*/\1 \2 \3/p' "$work/versions" \
    | awk '{ print $1 * 10000 + $2 * 100 + $3 }')
nccl_code=${nccl_code:-0}
share=$(share_ways | head -n 1)
stand_in=''
if ((gpus > 0)) && grep -q '^NVIDIA driver  *missing' "$work/versions" && [[ ! -e /dev/dxg && ! -e /dev/nvidiactl ]]; then
    stand_in='**Not a record of a GPU**: no NVIDIA kernel module is loaded, so the library of the driver is a stand-in.'
    say "$stand_in"
fi
describe_machine >"$work/machine"
if [[ -n $record && -s $record ]]; then read_record; fi
if [[ ${again[*]} == failed ]]; then
    again=()
    for each in "${all_checks[@]}"; do
        if [[ ${outcome[$each]:-} == fail ]]; then again+=("$each"); fi
    done
fi
for each in "${again[@]}"; do
    is_chosen "$each" || refuse "--again $each is not among the checks of --only"
    forget "$each"
done

# --- one after the other ----------------------------------------------------------------------------------------------------

# How the checks that are left are run, as words for a shell.
command_to_go_on() {
    if [[ -z $record ]]; then to_go_on+=(--only "$(IFS=,; printf '%s' "${left[*]}")"); fi
    quoted "$script" "${to_go_on[@]}"
}

# Words as a shell reads them again.
quoted() {
    local word space=''
    for word; do
        if [[ $word =~ ^[A-Za-z0-9_./,=:@%+-]+$ ]]; then printf '%s%s' "$space" "$word"; else printf '%s%q' "$space" "$word"; fi
        space=' '
    done
}

finish() {
    local exit_code=0
    write_record
    if [[ -z $record ]]; then render_record; fi
    case $verdict in pass) ;; fail) exit_code=1 ;; not-run) exit_code=2 ;; left) exit_code=3 ;; esac
    if ((${#left[@]} > 0)); then say "left: ${left[*]}; to go on: $(command_to_go_on)"; fi
    if ((failed > 0)) && [[ -n $record ]]; then say "--again failed, added to that command, repeats what has failed"; fi
    printf 'RESULT gpu_check=%s passed=%d failed=%d not_run=%d left=%d seconds=%d%s\n' "$verdict" "$passed" "$failed" \
        "$not_run" "${#left[@]}" "$SECONDS" "${stand_in:+ driver=stand-in}"
    exit "$exit_code"
}

# A check in progress stays left; what was seen before is in the record.
interrupted() {
    trap '' INT TERM HUP
    if [[ -n $running ]]; then
        kill -TERM "$running" 2>/dev/null || true
        wait "$running" || true
    fi
    if [[ -n $check && ! -f $work/sections/$check ]]; then
        note left "$label: interrupted"
        write_section $((SECONDS - check_began))
    fi
    say 'interrupted'
    finish
}

run_check() {
    check_began=$SECONDS
    allowed=${limit[$check]}
    own_deadline=$((SECONDS + allowed))
    deadline=$((own_deadline < end ? own_deadline : end))
    label=$check
    : >"$work/log"
    : >"$work/times"
    ran+=("$check")
    if [[ -n $no_gpu ]]; then
        note not-run "$no_gpu"
    else
        "check_$check"
    fi
    write_section $((SECONDS - check_began))
    write_record
    say "$check: ${outcome[$check]}, ${notes[$check]}"
}

# A third of the check's time; of all the time if that is less, so that a call with a short --limit begins something.
time_needed() { echo $(((limit[$check] < end ? limit[$check] : end) / 3)); }

check_began=0
trap interrupted INT TERM HUP
for check in "${worth[@]}"; do
    if ! is_chosen "$check" || [[ ${outcome[$check]:-left} != left ]]; then continue; fi
    if ((end - SECONDS < $(time_needed))); then
        say "$check: left, it is not begun with less than $(time_needed) s"
        continue
    fi
    forget "$check"
    say "$check: ${title[$check]}"
    run_check
done
check=''
finish
