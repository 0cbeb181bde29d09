#!/usr/bin/env bash
# Checks the GPU part of hvd on this machine, each check of docs/gpu.md within a limit of its own, and writes a record in
# Markdown: versions, figures, what passed, failed or could not be run and why. Ends within ten minutes.
#
#   gpu-check.sh [FOLDER] [--out FILE] [--ranks N] [--only G2,G4] [--limit SECONDS]
#
#   FOLDER      what bundle.sh made, or a checkout that is built; without it, the one in which this script lies
#   --out FILE  where to write the record; else it goes to standard output
#   --ranks N   ranks of the checks that take several, 2 if not given; more than GPUs share them
#   --only ...  only these checks, of G1 to G7
#   --limit ... seconds for each check instead of its own limit; the whole may then take longer
#
# The last line on standard output is RESULT gpu_check=pass|fail|not-run. Exit code 0 for pass, 1 for fail, 2 for not-run.
# Needs bash, coreutils, grep, sed and awk; python3 is asked for NVIDIA's packages if it is there.
set -euo pipefail
shopt -s nullglob

say() { printf 'gpu-check: %s\n' "$*" >&2; }

refuse() {
    say "$*"
    exit 2
}

# Seconds for each check, all runs of it together; 540 in all.
declare -A limit=([G1]=60 [G2]=90 [G3]=80 [G4]=40 [G5]=100 [G6]=100 [G7]=70)
declare -A title=(
    [G1]='ranks and their GPUs'
    [G2]='collectives by NCCL'
    [G3]='collectives through the host, NCCL hidden'
    [G4]='kernels: bits, share of a copy on the device'
    [G5]='a trainer with its own CUDA kernels'
    [G6]='compute-sanitizer memcheck over G2 and G4'
    [G7]='time of a call, beside C'
)
versions_limit=20
# Accuracy that ten epochs on the digits reach with 1 to 8 ranks on a CPU, and more.
learned=0.93
all_checks=(G1 G2 G3 G4 G5 G6 G7)
declare -A outcome notes
check='' deadline=0

here="$(cd -- "$(dirname -- "$(readlink -f "${BASH_SOURCE[0]}")")" >/dev/null && pwd)"
command_line="${BASH_SOURCE[0]##*/} $*"
folder=$(dirname "$here") record='' ranks=2 seconds='' chosen=("${all_checks[@]}")
while (($# > 0)); do
    case $1 in
        --out | --ranks | --only | --limit)
            (($# > 1)) || refuse "$1 needs a value"
            case $1 in
                --out) record=$2 ;;
                --ranks) ranks=$2 ;;
                --limit) seconds=$2 ;;
                --only) IFS=, read -r -a chosen <<<"$2" ;;
            esac
            shift
            ;;
        -*) refuse "unknown flag $1; the head of ${BASH_SOURCE[0]} lists them" ;;
        *) folder=$1 ;;
    esac
    shift
done
[[ $ranks =~ ^[1-9][0-9]?$ ]] || refuse "--ranks is a number from 1 to 99, not \"$ranks\""
[[ $seconds =~ ^([1-9][0-9]*)?$ ]] || refuse "--limit is a number of seconds, not \"$seconds\""
if [[ -n $seconds ]]; then for each in "${all_checks[@]}"; do limit[$each]=$seconds; done; fi
((${#chosen[@]} > 0)) || refuse "--only takes some of ${all_checks[*]}"
for each in "${chosen[@]}"; do
    [[ -n ${limit[$each]:-} ]] || refuse "--only takes some of ${all_checks[*]}, not \"$each\""
done
[[ -d $folder ]] || refuse "there is no folder $folder"
folder=$(cd -- "$folder" && pwd)
if [[ -n $record ]]; then : >"$record" || refuse "$record cannot be written"; fi

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
unset HVD_BACKEND HVD_SHARE_GPU HVD_PIN_GPU HVD_GPUS_PER_RANK HVD_GPU_STAGE_BYTES NCCL_HOSTID
unset HOROVOD_HIERARCHICAL_ALLREDUCE HOROVOD_TORUS_ALLREDUCE HOROVOD_ENABLE_ASYNC_COMPLETION
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/log"
: >"$work/times"

# --- what NVIDIA's libraries are and where they lie -----------------------------------------------------------------------

# Folders of NVIDIA's packages for Python, which bring CUDA's and NCCL's libraries and headers.
python_packages() {
    { command -v python3 >/dev/null && python3 -c 'import nvidia; print(*nvidia.__path__, sep="\n")' 2>/dev/null; } || true
}

library_folders=() header_folders=()
while read -r package; do
    library_folders+=("$package"/*/lib)
    header_folders+=("$package"/*/include)
done < <(python_packages)
library_folders+=(/usr/local/cuda*/lib64 /usr/local/cuda*/targets/x86_64-linux/lib)
header_folders+=(/usr/local/cuda*/include /usr/include)

# Prints "FILE (how it was found)" for the first place of a library, nothing if there is none.
find_library() {
    local name=$1 file
    local -a path
    IFS=: read -r -a path <<<"${LD_LIBRARY_PATH:-}"
    file=$(first_file "${path[@]/%//$name}")
    if [[ -n $file ]]; then
        printf '%s (LD_LIBRARY_PATH)\n' "$file"
        return
    fi
    file=$(first_file "${library_folders[@]/%//$name}")
    if [[ -n $file ]]; then
        printf '%s (added to LD_LIBRARY_PATH)\n' "$file"
        return
    fi
    file=$({ ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null || true; } | sed -n "s:.*$name .*=> ::p" | head -n 1)
    if [[ -n $file ]]; then printf '%s (ldconfig)\n' "$file"; fi
}

first_file() {
    local file
    for file; do
        if [[ -f $file ]]; then
            printf '%s\n' "$file"
            return
        fi
    done
}

use_library() {
    local found=$1 place
    if [[ $found == *' (added to LD_LIBRARY_PATH)' ]]; then
        place=$(dirname "${found%% (*}")
        export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$place
    fi
}

cudart=$(find_library libcudart.so.13)
nccl=$(find_library libnccl.so.2)
use_library "$cudart"
use_library "$nccl"
say "libcudart.so.13: ${cudart:-not found}; libnccl.so.2: ${nccl:-not found}"

# --- running and judging ------------------------------------------------------------------------------------------------

# From good to bad; a check is as good as the worst of its runs.
rank_of() { case $1 in pass) echo 0 ;; not-run) echo 1 ;; *) echo 2 ;; esac }

note() {
    local result=$1 text=$2
    if [[ -z ${outcome[$check]:-} ]] || (($(rank_of "$result") > $(rank_of "${outcome[$check]}"))); then
        outcome[$check]=$result
    fi
    notes[$check]+="${notes[$check]:+; }$text"
}

# Runs a command, the run called $label, within what is left of the check's limit; its output is in $work/out, its exit
# code in $code.
attempt() {
    local left started=$SECONDS
    left=$((deadline - SECONDS))
    code=0
    : >"$work/out"
    if ((left > 0)); then
        timeout -k 5 "$left" "$@" >"$work/out" 2>&1 </dev/null || code=$?
    else
        code=124
    fi
    {
        printf '\n%s, %s: exit code %d after %d s\n' "$check" "$label" "$code" $((SECONDS - started))
        printf '    $'
        printf ' %q' "$@"
        printf '\n'
        excerpt | cut -c 1-400 | sed 's/^/    /'
    } >>"$work/log"
    if ((code == 124 || code == 137)) && ((SECONDS >= deadline)); then
        note fail "$label: no end within ${limit[$check]} s"
        return 1
    fi
}

# The lines of the output that count; where there are none, its end.
excerpt() {
    grep -m 60 -aE '^(CHECK|RESULT|bytes:)|[Ee]poch|ERROR SUMMARY' "$work/out" || tail -n 15 "$work/out"
}

# The CHECK lines of one check (G1, or G2 with G2.allreduce and so on) decide about a run.
judge() {
    local name=$1 lines bad
    # Every rank says why it was refused.
    lines=$(grep -aE "^CHECK $name(\.[a-z-]+)? " "$work/out" | awk '!seen[$0]++' || true)
    if [[ -z $lines ]]; then
        note fail "$label: exit code $code and no line CHECK $name; $(last_words)"
        return
    fi
    for bad in fail not-run; do
        if grep -qE "^CHECK [^ ]+ $bad " <<<"$lines"; then
            note "$bad" "$label: $(sed -nE "s/^CHECK ([^ ]+) $bad (.*)/\1 \2/p" <<<"$lines" | joined)"
            return
        fi
    done
    if ((code != 0)) && [[ ${2:-} != any-code ]]; then
        note fail "$label: all lines pass, but exit code $code; $(last_words)"
    elif (($(wc -l <<<"$lines") > 1)); then
        note pass "$label: $(sed -E 's/^CHECK [A-Z0-9]+\.([a-z-]+) pass .*/\1/' <<<"$lines" | joined)"
    else
        note pass "$label: $(sed -E 's/^CHECK [^ ]+ pass (bytes:microseconds[ 0-9:.]*; )?//' <<<"$lines" | shortened)"
    fi
}

# The whole line is among what the command printed.
shortened() { awk '{ print (length($0) > 240 ? substr($0, 1, 240) "..." : $0) }'; }

# Lines as one.
joined() { awk 'NR > 1 { printf "; " } { printf "%s", $0 }'; }

last_words() {
    local words
    words=$(grep -a '[^ -]' "$work/out" | tail -n 1 | cut -c 1-200 || true)
    printf 'last words: %s' "${words:-none}"
}

# --- jobs ---------------------------------------------------------------------------------------------------------------

# The words before "java" for N ranks by NCCL: where there are too few GPUs, ranks share the first, which NCCL takes for
# GPUs of different hosts.
by_nccl() {
    wrapper=(env "HVD_BACKEND=nccl")
    if (($1 > gpus)); then
        # shellcheck disable=SC2016 # expands in each rank
        wrapper+=("HVD_SHARE_GPU=1" bash -c 'NCCL_HOSTID=rank$OMPI_COMM_WORLD_RANK exec "$@"' rank)
    fi
}

through_host() {
    wrapper=()
    if (($1 > gpus)); then wrapper=(env "HVD_SHARE_GPU=1"); fi
}

# By NCCL if it is there.
by_default() { if [[ -z $no_nccl ]]; then by_nccl "$1"; else through_host "$1"; fi; }

job() {
    local count=$1
    shift
    attempt horovodrun -np "$count" "${wrapper[@]}" "${tool[@]}" java -jar "$jar" "$@"
}

plural() { if (($1 == 1)); then printf '1 rank'; else printf '%d ranks' "$1"; fi; }

# 1, and the number of ranks asked for if that is another.
counts() { if ((ranks == 1)); then echo 1; else echo "1 $ranks"; fi; }

check_G1() {
    local count
    wrapper=()
    for count in $(printf '%s\n' 1 "$gpus" | sort -nu); do
        label=$(plural "$count")
        if job "$count" gpu-check --only G1; then judge G1; fi
    done
    label="$(plural $((gpus + 1))) for $gpus GPU(s)"
    # mpirun's exit code tells nothing here: the ranks leave before they have joined.
    if job $((gpus + 1)) gpu-check --more-ranks-than-gpus; then judge G1 any-code; fi
    if ((gpus == 1)); then
        through_host 2
        label='2 ranks that share it'
        if job 2 gpu-check --only G1; then judge G1; fi
    fi
}

check_G2() {
    local count
    if [[ -n $no_nccl ]]; then note not-run "$no_nccl" && return; fi
    for count in $(counts); do
        by_nccl "$count"
        label=$(plural "$count")
        if job "$count" gpu-check --only G2; then judge G2; fi
    done
}

# JavaCPP looks for NCCL in folders of its own, too, so that no LD_LIBRARY_PATH hides it for certain. Without the natives
# of its binding no NCCL loads, wherever it lies; the CUDA driver is reached through JCuda. train.jar is a copy: java
# follows a link to it and takes the class path from the folder that the link points to.
hide_nccl() {
    local file
    mkdir -p "$work/no-nccl/lib"
    cp "$jar" "$work/no-nccl/train.jar"
    for file in "$(dirname "$jar")"/lib/*.jar; do
        case ${file##*/} in cuda-*-linux-x86_64.jar) ;; *) ln -sf "$file" "$work/no-nccl/lib/" ;; esac
    done
}

check_G3() {
    local count jar=$jar
    hide_nccl
    jar=$work/no-nccl/train.jar
    for count in $(counts); do
        through_host "$count"
        label=$(plural "$count")
        if job "$count" gpu-check --only G3; then judge G3; fi
    done
}

check_G4() {
    local ratios
    wrapper=() label='1 rank'
    if ! job 1 gpu-check --only G4; then return; fi
    judge G4
    ratios=$(sed -nE 's/^CHECK G4 .*\(ratios ([0-9.]+) and ([0-9.]+)\).*/\1 \2/p' "$work/out")
    if [[ -n $ratios ]]; then
        notes[G4]+="; $(awk '{ print ($1 < 0.8 || $2 < 0.8) ? "BELOW the aim" : "reaches the aim" }' <<<"$ratios") of 0.80"
    fi
}

check_G5() {
    local count flag
    timeout "$versions_limit" java -jar "$jar" --help >"$work/help" 2>&1 </dev/null || true
    if ! grep -qE '^ *cuda-mlp ' "$work/help"; then
        note not-run "this train.jar has no example cuda-mlp"
        return
    fi
    : >"$work/accuracies"
    for count in $(counts); do
        for flag in '' --fp16-allreduce; do
            by_default "$count"
            label="$(plural "$count"), $(if [[ -n $flag ]]; then echo fp16; else echo fp32; fi)"
            if job "$count" cuda-mlp --epochs 10 --data digits $flag; then judge_training; fi
        done
    done
    # The same training on a CPU reaches more than this.
    if [[ ${outcome[G5]} == pass ]] && ! awk -v floor="$learned" '$1 < floor { low = 1 } END { exit low }' "$work/accuracies"; then
        note fail "an accuracy is below $learned"
    fi
    # One model from the same data: neither ranks nor compression may cost accuracy.
    if [[ ${outcome[G5]} == pass ]] && ! awk 'NR == 1 { low = high = $1 } { if ($1 < low) low = $1; if ($1 > high) high = $1 }
        END { exit !(high - low <= 0.03) }' "$work/accuracies"; then
        note fail "the accuracies differ by more than 0.03"
    fi
}

judge_training() {
    local line accuracy
    line=$(grep -aE '^RESULT example=cuda-mlp ' "$work/out" | tail -n 1 || true)
    accuracy=$(sed -nE 's/.* accuracy=([0-9.]+).*/\1/p' <<<"$line")
    if ((code == 2)) && [[ -z $line ]]; then
        note not-run "$label: $(last_words)"
    elif ((code != 0)) || [[ -z $accuracy ]]; then
        note fail "$label: exit code $code; $(last_words)"
    else
        printf '%s\n' "$accuracy" >>"$work/accuracies"
        note pass "$label: ${line#RESULT example=cuda-mlp }"
    fi
}

check_G6() {
    local sanitizer
    sanitizer=$(command -v compute-sanitizer || first_file /usr/local/cuda*/bin/compute-sanitizer \
        /usr/local/cuda*/compute-sanitizer/compute-sanitizer)
    if [[ -z $sanitizer ]]; then
        note not-run "compute-sanitizer is neither on the PATH nor in /usr/local/cuda*/bin"
        return
    fi
    # Under memcheck a kernel takes many times as long. Small tensors reach the same lines of the kernels.
    tool=("$sanitizer" --tool memcheck --error-exitcode 86)
    wrapper=() label='G4, 1 rank'
    if job 1 gpu-check --quick --only G4; then judge_memory 1 G4; fi
    if [[ -n $no_nccl ]]; then
        note not-run "G2: $no_nccl"
    else
        by_nccl "$ranks"
        label="G2, $(plural "$ranks")"
        if job "$ranks" gpu-check --quick --only G2; then judge_memory "$ranks" G2; fi
    fi
    tool=()
}

# Every rank's sanitizer must have come to its end and found nothing, and the check itself have passed.
judge_memory() {
    local count=$1 name=$2 ended clean
    ended=$(grep -ac 'ERROR SUMMARY: ' "$work/out" || true)
    clean=$(grep -acE 'ERROR SUMMARY: 0 errors' "$work/out" || true)
    if ((ended < count)); then
        note fail "$label: $ended of $count summaries of memcheck, exit code $code; $(last_words)"
    elif ((clean < ended)); then
        note fail "$label: $(grep -aE 'ERROR SUMMARY: ' "$work/out" | joined)"
    elif ! grep -qaE "^CHECK $name(\.[a-z-]+)? pass " "$work/out" || grep -qaE "^CHECK $name(\.[a-z-]+)? (fail|not-run) " "$work/out"; then
        note fail "$label: memcheck has no finding, but $name did not pass under it; $(last_words)"
    else
        note pass "$label: 0 errors"
    fi
}

check_G7() {
    local count reason
    reason=$(compile_calls)
    for count in $(counts); do
        by_default "$count"
        label="hvd, $(plural "$count")"
        if job "$count" gpu-check --only G7; then
            judge G7
            column '^CHECK G7 pass bytes:microseconds'
        fi
        if [[ -n $reason ]]; then continue; fi
        label="C, $(plural "$count")"
        if attempt "$work/calls" "$count"; then
            if ((code == 0)); then note pass "$label: in the table"; else note fail "$label: exit code $code; $(last_words)"; fi
            column '^bytes:microseconds'
        fi
    done
    if [[ -n $reason ]]; then notes[G7]+="; C: not-run, $reason"; fi
}

# Adds "bytes TAB label TAB microseconds" for each size of a line such as "bytes:microseconds 4:1.5 16:1.6; nccl ...".
column() {
    sed -nE "s/$1([ 0-9:.]*).*/\1/p" "$work/out" | tr ' ' '\n' \
        | awk -F : -v label="$label" 'NF == 2 { print $1 "\t" label "\t" $2 }' >>"$work/times"
}

# The headers' folder beside the one of a library.
beside() { printf '%s/../include' "$(dirname "${1%% (*}")"; }

# Prints why there is no program in C to compare with; nothing if there is.
compile_calls() {
    local compiler nvcc cuda_h nccl_h
    local -a beside_nvcc=()
    if [[ -n $no_nccl ]]; then echo "$no_nccl" && return; fi
    compiler=$(command -v cc || command -v gcc || command -v clang || true)
    nvcc=$(command -v nvcc || true)
    if [[ -n $nvcc ]]; then beside_nvcc=("$(dirname "$(readlink -f "$nvcc")")/../include/cuda_runtime.h"); fi
    cuda_h=$(first_file "$(beside "$cudart")/cuda_runtime.h" "${beside_nvcc[@]}" "${header_folders[@]/%//cuda_runtime.h}")
    nccl_h=$(first_file "$(beside "$nccl")/nccl.h" "${header_folders[@]/%//nccl.h}")
    if [[ -z $compiler ]]; then
        echo "there is no C compiler (cc, gcc, clang; nvcc needs one too)"
    elif [[ -z $cuda_h ]]; then
        echo "there is no cuda_runtime.h"
    elif [[ -z $nccl_h ]]; then
        echo "there is no nccl.h"
    elif [[ -z $cudart || -z $nccl ]]; then
        echo "libcudart.so.13 or libnccl.so.2 was not found"
    elif ! timeout "$versions_limit" "$compiler" -O2 -I "$(dirname "$cuda_h")" -I "$(dirname "$nccl_h")" -o "$work/calls" \
        "$here/gpu/calls.c" "${cudart%% (*}" "${nccl%% (*}" >"$work/out" 2>&1 </dev/null; then
        echo "$compiler did not compile calls.c: $(grep -m 1 -a error "$work/out" || echo 'no reason given')"
    fi
}

run_check() {
    case $check in
        G1) check_G1 ;;
        G2) check_G2 ;;
        G3) check_G3 ;;
        G4) check_G4 ;;
        G5) check_G5 ;;
        G6) check_G6 ;;
        G7) check_G7 ;;
    esac
}

# --- the record -----------------------------------------------------------------------------------------------------------

of_bundle_or_git() {
    if [[ -f $folder/version ]]; then
        cat "$folder/version"
    else
        git -C "$folder" describe --always --dirty 2>/dev/null || echo unknown
    fi
}

cell() { printf '%s' "$1" | tr '\n' ' ' | sed 's/|/\\|/g'; }

row() {
    printf '|'
    while (($# > 0)); do
        printf ' %s |' "$(cell "$1")"
        shift
    done
    printf '\n'
}

times_table() {
    awk -F '\t' '
        !($2 in seen) { seen[$2] = 1; label[++labels] = $2 }
        !($1 in known) { known[$1] = 1; bytes[++sizes] = $1 }
        { time[$1, $2] = $3 }
        END {
            printf "| bytes |"; for (i = 1; i <= labels; i++) printf " %s |", label[i]
            printf "\n|---|"; for (i = 1; i <= labels; i++) printf "---|"
            for (s = 1; s <= sizes; s++) {
                printf "\n| %s |", bytes[s]
                for (i = 1; i <= labels; i++) printf " %s |", (bytes[s], label[i]) in time ? time[bytes[s], label[i]] : "-"
            }
            print ""
        }' "$work/times"
}

write_record() {
    local each nowhere="missing: not in LD_LIBRARY_PATH, NVIDIA's packages for Python, /usr/local/cuda*, ldconfig"
    printf '# GPU record of %s: %s\n\n' "$(date -u '+%Y-%m-%d %H:%M UTC')" "$verdict"
    # shellcheck disable=SC2016 # Markdown, not a command
    printf '`%s`: %d passed, %d failed, %d not run, in %d s.\n\n' "$command_line" "$passed" "$failed" "$not_run" "$SECONDS"
    if [[ -n $stand_in ]]; then printf '%s\n\n' "$stand_in"; fi
    row part found
    printf '|---|---|\n'
    sed -nE 's/^(.*[^ ])  +([^ ].*)$/\1\t\2/p' "$work/versions" | while IFS=$'\t' read -r part found; do row "$part" "$found"; done
    row libcudart.so.13 "${cudart:-$nowhere}"
    row libnccl.so.2 "${nccl:-$nowhere}"
    row hvd "$(of_bundle_or_git)"
    row Java "$(java -version 2>&1 </dev/null | head -n 1)"
    row 'Open MPI' "$(mpirun --version 2>/dev/null </dev/null | sed -n 's/.*(Open MPI) \([^ ]*\).*/\1/p')"
    row system "$(sed -n 's/^PRETTY_NAME="\(.*\)"$/\1/p' /etc/os-release 2>/dev/null), $(nproc) cores"
    printf '\n'
    row check what result 'seen, or why not'
    printf '|---|---|---|---|\n'
    for each in "${all_checks[@]}"; do
        row "$each" "${title[$each]}" "${outcome[$each]:-not-run}" "${notes[$each]:-not asked for}"
    done
    if [[ -s $work/times ]]; then
        printf '\nMicroseconds of one blocking allreduce (G7), medians:\n\n'
        times_table
    fi
    printf '\nCommands, and what they printed:\n```text'
    if [[ -s $work/log ]]; then cat "$work/log"; else printf '\nnone was started\n'; fi
    printf '```\n'
}

# --- one after the other ----------------------------------------------------------------------------------------------------

wrapper=() tool=() code=0 label=''
timeout -k 5 "$versions_limit" java -jar "$jar" gpu-check --versions table >"$work/versions" 2>"$work/err" \
    </dev/null || code=$?
cat "$work/versions" >&2
gpus=$(grep -cE '^GPU [0-9]+ ' "$work/versions" || true)
no_gpu=$(sed -nE 's/^GPU  +missing: /no GPU: /p' "$work/versions")
no_nccl=$(sed -nE 's/^NCCL  +missing: /no NCCL: /p' "$work/versions")
unread='' stand_in=''
if [[ $gpus == 0 && -z $no_gpu ]]; then
    unread="the table of versions could not be read (exit code $code): $(tail -n 1 "$work/err")"
elif ((gpus > 0)) && grep -q '^NVIDIA driver  *missing' "$work/versions" && [[ ! -e /dev/dxg ]]; then
    stand_in='**Not a record of a GPU**: no NVIDIA kernel module is loaded, so the library of the driver is a stand-in.'
    say "$stand_in"
fi

for check in "${chosen[@]}"; do
    say "$check: ${title[$check]}"
    deadline=$((SECONDS + limit[$check]))
    if [[ -n $no_gpu ]]; then
        note not-run "$no_gpu"
    elif [[ -n $unread ]]; then
        note fail "$unread"
    else
        run_check
    fi
    say "$check: ${outcome[$check]}, ${notes[$check]}"
done

passed=0 failed=0 not_run=0 verdict=pass
for check in "${chosen[@]}"; do
    case ${outcome[$check]} in
        pass) passed=$((passed + 1)) ;;
        not-run) not_run=$((not_run + 1)) ;;
        *) failed=$((failed + 1)) ;;
    esac
done
if ((failed > 0)); then verdict=fail; elif ((not_run > 0)); then verdict=not-run; fi
if [[ -n $record ]]; then write_record >"$record"; else write_record; fi
printf 'RESULT gpu_check=%s passed=%d failed=%d not_run=%d seconds=%d%s\n' "$verdict" "$passed" "$failed" "$not_run" \
    "$SECONDS" "${stand_in:+ driver=stand-in}"
case $verdict in pass) exit 0 ;; fail) exit 1 ;; *) exit 2 ;; esac
