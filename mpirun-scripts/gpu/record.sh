# The record: what it says of the machine, one section for each check, and how a later call reads it. Sourced by
# gpu-check.sh.
#
# A section begins with "<!-- check G1 pass 12 -->" (outcome, seconds) and ends with "<!-- end of G1 -->".
# shellcheck shell=bash disable=SC2154,SC2034 # gpu-check.sh sets what is not set here, and reads what is

shared_gpu='Runs with more ranks than GPUs share a GPU. They show whether results are right, and say nothing about speed.'

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

# What must be the same when a later call goes on with the record.
describe_machine() {
    local nowhere="missing: not in LD_LIBRARY_PATH, NVIDIA's packages for Python, /usr/local/cuda*, ldconfig"
    local part found
    sed -nE 's/^(.*[^ ])  +([^ ].*)$/\1\t\2/p' "$work/versions" | while IFS=$'\t' read -r part found; do row "$part" "$found"; done
    row libcudart.so.13 "${cudart:-$nowhere}"
    row libnccl.so.2 "${nccl:-$nowhere}"
    row 'missing parts' "$(missing_text)"
    row hvd "$(of_bundle_or_git)"
    row Java "$(java -version 2>&1 </dev/null | head -n 1)"
    row 'Open MPI' "$(mpirun --version 2>/dev/null </dev/null | sed -n 's/.*(Open MPI) \([^ ]*\).*/\1/p')"
    row system "$(sed -n 's/^PRETTY_NAME="\(.*\)"$/\1/p' /etc/os-release 2>/dev/null), $(nproc) cores"
    row host "$(uname -n)"
    row ranks "$ranks"
    row tensors "$(if ((${#quick[@]} > 0)); then echo 'small only (--quick)'; else echo 'all sizes'; fi)"
}

# The rows about the machine in a record.
machine_in() { sed -n '/^| part | found |$/,/^$/p' "$1" | tail -n +3 | grep '^|' || true; }

is_record() { [[ $(head -n 1 "$1") == '# GPU record of '* ]]; }

# Refuses a record of something else, with all that differs; else takes over the checks that are in it.
read_record() {
    local differences
    is_record "$record" || refuse "$record is there, and is no record of gpu-check.sh; name another file"
    machine_in "$record" >"$work/machine-before"
    differences=$(differing_rows "$work/machine-before" "$work/machine")
    if [[ -n $differences ]]; then
        say "$record is a record of something else:"
        printf '%s\n' "$differences" >&2
        refuse 'give --out another file; where only the host differs, --any-host goes on all the same'
    fi
    # --any-host: the record says of which host it is from now on.
    grep -a '^- `' "$record" >"$work/calls-before" || true
    sed -n 's/^<!-- check \(G[1-9]\) .*/\1/p' "$record" | while read -r each; do
        sed -n "/^<!-- check $each /,/^<!-- end of $each -->\$/p" "$record" >"$work/sections/$each"
        # A section without its end was cut off with the file.
        tail -n 1 "$work/sections/$each" | grep -q '^<!-- end of ' || rm "$work/sections/$each"
    done
    for each in "${all_checks[@]}"; do
        if [[ -f $work/sections/$each ]]; then take_section "$each"; fi
    done
}

# Prints a line for each row that is not in both files with the same value.
differing_rows() {
    awk -F ' \\| ' -v any_host="$any_host" '
        { part = $1; sub(/^\| /, "", part); value = substr($0, length($1) + 4); sub(/ \|$/, "", value) }
        # What is missing shows in the other rows where it matters.
        part == "missing parts" || (part == "host" && any_host != "") { next }
        FNR == NR { before[part] = value; next }
        { here[part] = 1 }
        !(part in before) { print "    " part ": nothing in the record, here \"" value "\""; next }
        before[part] != value { print "    " part ": \"" before[part] "\" in the record, here \"" value "\"" }
        END { for (part in before) if (!(part in here)) print "    " part ": \"" before[part] "\" in the record, nothing here" }
    ' "$1" "$2"
}

# Sets the outcome of a check from its section.
take_section() {
    local name=$1 words way
    words=$(sed -n '1s/^<!-- check G[1-9] \([a-z-]*\) \([0-9]*\) -->$/\1 \2/p' "$work/sections/$name")
    outcome[$name]=${words% *}
    notes[$name]=$(sed -n 's/^Seen: //p' "$work/sections/$name" | head -n 1)
    way=$(sed -n 's/^<!-- ranks share GPUs by \([a-z-]*\) -->$/\1/p' "$work/sections/$name")
    if [[ -n $way && -z $forced_share ]]; then share=$way; fi
}

forget() {
    unset "outcome[$1]" "notes[$1]"
    rm -f "$work/sections/$1"
}

# The section of the check that has just ended. $1 is its time in seconds.
write_section() {
    local file=$work/sections/$check
    {
        printf '<!-- check %s %s %d -->\n' "$check" "${outcome[$check]}" "$1"
        if [[ $check == G2 ]]; then printf '<!-- ranks share GPUs by %s -->\n' "$share"; fi
        printf '## %s, %s: %s\n' "$check" "${title[$check]}" "${outcome[$check]}"
        printf 'Seen: %s\n\n' "$(printf '%s' "${notes[$check]}" | tr '\n' ' ')"
        if [[ $check == G7 && -s $work/times ]]; then
            printf 'Microseconds of one blocking allreduce, means:\n\n'
            times_table
            printf '\n'
        fi
        printf 'Commands, and what they printed:\n```text'
        if [[ -s $work/log ]]; then cat "$work/log"; else printf '\nnone was started\n'; fi
        printf '```\n<!-- end of %s -->\n' "$check"
    } >"$file"
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

# Counts the outcomes; a check that was neither asked for nor seen before counts as nothing.
count_outcomes() {
    local each
    passed=0 failed=0 not_run=0 left=() verdict=pass
    for each in "${worth[@]}"; do
        case ${outcome[$each]:-} in
            pass) passed=$((passed + 1)) ;;
            fail) failed=$((failed + 1)) ;;
            not-run) not_run=$((not_run + 1)) ;;
            left) left+=("$each") ;;
            *) if is_chosen "$each"; then left+=("$each"); fi ;;
        esac
    done
    if ((failed > 0)); then
        verdict=fail
    elif ((${#left[@]} > 0)); then
        verdict=left
    elif ((not_run > 0)); then
        verdict=not-run
    fi
}

render_record() {
    local each other='not asked for'
    printf '# GPU record of %s: %s\n\n' "$(date -u '+%Y-%m-%d %H:%M UTC')" "$verdict"
    if [[ -n $stand_in ]]; then printf '%s\n\n' "$stand_in"; fi
    if ((gpus > 0 && ranks > gpus)); then printf '%s\n\n' "$shared_gpu"; fi
    printf '%d passed, %d failed, %d not run, %d left.\n\n' "$passed" "$failed" "$not_run" "${#left[@]}"
    cat "$work/calls-before"
    # shellcheck disable=SC2016 # Markdown, not a command
    printf -- '- `%s` of %s ran %s, in %d s\n\n' "$command_line" "$began" "${ran[*]:-nothing}" "$SECONDS"
    row part found
    printf '|---|---|\n'
    cat "$work/machine"
    printf '\n'
    row check what result 'seen, or why not'
    printf '|---|---|---|---|\n'
    for each in "${all_checks[@]}"; do
        if [[ -n ${outcome[$each]:-} ]]; then
            row "$each" "${title[$each]}" "${outcome[$each]}" "${notes[$each]}"
        elif is_chosen "$each"; then
            row "$each" "${title[$each]}" left 'not begun'
        else
            row "$each" "${title[$each]}" not-run "$other"
        fi
    done
    for each in "${all_checks[@]}"; do
        if [[ -f $work/sections/$each ]]; then
            printf '\n'
            cat "$work/sections/$each"
        fi
    done
}

# A reader of the record sees it as it was before or as it is afterwards, and nothing between.
write_record() {
    count_outcomes
    if [[ -z $record ]]; then return; fi
    render_record >"$record.part"
    mv -f "$record.part" "$record"
}
