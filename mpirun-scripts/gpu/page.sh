# gpu-check.sh --page: what records have seen, as a section of docs/records/gpu.md. Sourced by gpu-check.sh.
# shellcheck shell=bash disable=SC2154 # gpu-check.sh sets what is not set here

print_page() {
    local file
    # The shell leaves a pattern that matches nothing as it is.
    if (($# == 1)) && [[ $1 == *[*?]* && ! -e $1 ]]; then set --; fi
    for file; do
        [[ -f $file ]] || refuse "there is no file $file"
        is_record "$file" || refuse "$file is no record of gpu-check.sh"
        if grep -q '^\*\*Not a record of a GPU\*\*' "$file"; then refuse "$file is not a record of a GPU, as it says itself"; fi
        [[ -n $(value_in "$file" 'GPU 0') ]] || refuse "$file is a record of a machine without a GPU"
        [[ -z $(value_in "$file" tensors | sed '/all sizes/d') ]] || refuse "$file was made with --quick"
    done
    if (($# == 0)); then
        printf 'No record of a GPU is there yet: **none of these checks has been run on a GPU.**\n\n'
    fi
    page_table "$@"
    for file; do
        page_times "$file"
        page_beside_libtorch "$file"
    done
    for file; do
        if grep -qxF "$shared_gpu" "$file"; then
            printf '\n%s\n' "$shared_gpu"
            break
        fi
    done
}

page_table() {
    local each file
    local -a heads=() marks=() cells
    for file; do
        heads+=("$(page_head "$file")")
        marks+=('---|')
    done
    if (($# == 0)); then heads=('status') marks=('---|'); fi
    row check what "${heads[@]}"
    printf '|---|---|%s\n' "$(printf '%s' "${marks[@]}")"
    for each in "${all_checks[@]}"; do
        cells=()
        for file; do cells+=("$(page_cell "$file" "$each")"); done
        row "$each" "${title[$each]}" "${cells[@]:-not yet run on a GPU}"
    done
}

# One value of the table about the machine.
value_in() { machine_in "$1" | sed -n "s/^| $2 | \(.*\) |\$/\1/p" | head -n 1; }

page_head() {
    local date
    date=$(sed -n '1s/^# GPU record of \([0-9-]*\) .*/\1/p' "$1")
    printf '%s; driver %s; NCCL %s; hvd %s; %s' "$(value_in "$1" 'GPU 0')" "$(value_in "$1" 'NVIDIA driver')" \
        "$(value_in "$1" NCCL | sed 's/, .*//')" "$(value_in "$1" hvd)" "$date"
}

page_cell() {
    local section words
    section=$(sed -n "/^<!-- check $2 /,/^<!-- end of $2 -->\$/p" "$1")
    words=$(sed -n '1s/^<!-- check G[1-9] \([a-z-]*\) .*/\1/p' <<<"$section")
    case $words in
        '') printf 'not yet run' ;;
        left) printf 'not yet run to its end' ;;
        *) printf '%s: %s' "$words" "$(sed -n 's/^Seen: //p' <<<"$section" | head -n 1)" ;;
    esac
}

# The table of G7, if the record has it.
page_times() {
    local table
    table=$(sed -n '/^<!-- check G7 /,/^<!-- end of G7 -->$/p' "$1" | grep '^|' || true)
    if [[ -n $table ]]; then
        printf '\nMicroseconds of one blocking allreduce on %s:\n\n%s\n' "$(value_in "$1" 'GPU 0')" "$table"
    fi
}

# The sizes that G9 has measured, if the record has them.
page_beside_libtorch() {
    local rows
    rows=$(sed -n '/^<!-- check G9 /,/^<!-- end of G9 -->$/p' "$1" \
        | sed -nE 's/^ *beside-libtorch +([0-9]+) +([0-9.]+) +([0-9.]+) +([0-9]+)$/| \1 | \2 | \3 | \4 |/p')
    if [[ -n $rows ]]; then
        printf '\nMicroseconds of one allreduce of a LibTorch tensor on %s:\n\n' "$(value_in "$1" 'GPU 0')"
        row bytes hvd "LibTorch's NCCL" 'wrong elements'
        printf '|---|---|---|---|\n%s\n' "$rows"
    fi
}
