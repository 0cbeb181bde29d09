# Running the programs of a check within its time, and judging what they print. Sourced by gpu-check.sh.
# shellcheck shell=bash disable=SC2154 # gpu-check.sh sets what is not set here

# A check is as good as the worst of its runs.
badness() { case $1 in pass) echo 0 ;; not-run) echo 1 ;; left) echo 2 ;; *) echo 3 ;; esac }

note() {
    local result=$1 text=$2
    run_outcome=$result
    if [[ -z ${outcome[$check]:-} ]] || (($(badness "$result") > $(badness "${outcome[$check]}"))); then
        outcome[$check]=$result
    fi
    notes[$check]+="${notes[$check]:+; }$text"
}

# Runs a command, the run called $label, until the deadline of the check at most; its output is in $work/out, its exit
# code in $code. Fails if the time was over; a run that was not begun for that reason says nothing, and is left.
attempt() {
    local left started=$SECONDS
    left=$((deadline - SECONDS))
    code=0
    : >"$work/out"
    if ((left <= 0)); then
        if ((deadline < own_deadline)); then
            note left "$label: not begun, the time of --limit was over"
        else
            note left "$label: not begun, the check's time was over"
        fi
        return 1
    fi
    # In the background, so that a signal to this script is answered at once.
    timeout -k 5 "$left" "$@" >"$work/out" 2>&1 </dev/null &
    running=$!
    wait "$running" || code=$?
    running=''
    {
        printf '\n%s, %s: exit code %d after %d s\n' "$check" "$label" "$code" $((SECONDS - started))
        printf '    $'
        printf ' %q' "$@"
        printf '\n'
        excerpt | cut -c 1-600 | sed 's/^/    /'
    } >>"$work/log"
    if ((code == 124 || code == 137)) && ((SECONDS >= deadline)); then
        if ((deadline < own_deadline)); then
            note left "$label: cut off by --limit"
        else
            note fail "$label: no end within $allowed s"
        fi
        return 1
    fi
}

sweep_line='^(collective|allreduce|allgather|reducescatter|broadcast|alltoall) +[0-9s]'

# The lines of the output that count, and its end if there are none or the job has failed.
excerpt() {
    if ! grep -m 200 -aE "^(CHECK|RESULT|bytes:|G[79]:|beside-libtorch )|$sweep_line|[Ee]poch|ERROR SUMMARY|NCCL WARN" "$work/out" || ((code != 0)); then
        printf '(the end:)\n'
        tail -n 15 "$work/out"
    fi
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
    elif (($(wc -l <<<"$lines") > 1)) && [[ ${2:-} != any-code ]]; then
        note pass "$label: $(sed -E 's/^CHECK [A-Z0-9]+\.([a-z-]+) pass .*/\1/' <<<"$lines" | joined)"
    else
        note pass "$label: $(sed -E 's/^CHECK [^ ]+ pass //' <<<"$lines" | head -n 1 | shortened)"
    fi
}

# The whole line is among what the command printed.
shortened() { awk '{ print (length($0) > 500 ? substr($0, 1, 500) "..." : $0) }'; }

# Lines as one.
joined() { awk 'NR > 1 { printf "; " } { printf "%s", $0 }'; }

last_words() {
    local words
    words=$(grep -a '[^ -]' "$work/out" | tail -n 1 | cut -c 1-200 || true)
    printf 'last words: %s' "${words:-none}"
}

# The words before "java" for N ranks by NCCL. Where there are too few GPUs, ranks share them: NCCL 2.30 and newer allows
# that to ranks of one host if it is told to (without NVLS, which two ranks of a GPU cannot have); older ones have to take
# the ranks for ranks of different hosts.
by_nccl() {
    wrapper=(env "HVD_BACKEND=nccl")
    if (($1 <= gpus)); then return; fi
    wrapper+=("HVD_SHARE_GPU=1")
    if [[ $share == multi-rank* ]]; then wrapper+=("${multi_rank[@]}"); fi
    # shellcheck disable=SC2016 # expands in each rank
    if [[ $share == *host-id ]]; then wrapper+=(bash -c 'NCCL_HOSTID=rank$OMPI_COMM_WORLD_RANK exec "$@"' rank); fi
}

multi_rank=("NCCL_MULTI_RANK_GPU_ENABLE=1" "NCCL_NVLS_ENABLE=0")

share_words() {
    case $share in
        multi-rank) echo 'NCCL_MULTI_RANK_GPU_ENABLE=1' ;;
        host-id) echo 'an NCCL_HOSTID each' ;;
        *) echo 'NCCL_MULTI_RANK_GPU_ENABLE=1 and an NCCL_HOSTID each' ;;
    esac
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
