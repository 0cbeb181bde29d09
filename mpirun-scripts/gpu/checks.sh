# The checks themselves, one function for each. Sourced by gpu-check.sh.
# shellcheck shell=bash disable=SC2154,SC2034 # gpu-check.sh sets what is not set here, and reads what is

check_G1() {
    local count
    wrapper=()
    for count in $(printf '%s\n' 1 "$gpus" | sort -nu); do
        label=$(plural "$count")
        if job "$count" gpu-check "${quick[@]}" --only G1; then judge G1; fi
    done
    label="$(plural $((gpus + 1))) for $gpus GPU(s)"
    # mpirun's exit code tells nothing here: the ranks leave before they have joined.
    if job $((gpus + 1)) gpu-check "${quick[@]}" --more-ranks-than-gpus; then judge G1 any-code; fi
    if ((gpus == 1)); then
        through_host 2
        label='2 ranks that share it'
        if job 2 gpu-check "${quick[@]}" --only G1; then judge G1; fi
    fi
}

check_G2() {
    if [[ -n $no_nccl ]]; then note not-run "$no_nccl" && return; fi
    by_nccl 1
    label='1 rank'
    if job 1 gpu-check "${quick[@]}" --only G2; then judge G2; fi
    if ((ranks == 1)); then
        return
    elif ((ranks > gpus)); then
        choose_share
    else
        by_nccl "$ranks"
        label=$(plural "$ranks")
        if job "$ranks" gpu-check "${quick[@]}" --only G2; then judge G2; fi
    fi
    by_nccl "$ranks"
    rank_dies G2
    if ((ranks > gpus)); then try_other_ways; fi
}

# Tries the ways in which NCCL lets ranks share a GPU, with small tensors, each for a part of the check's time; the first
# that passes is the one of all later runs. A way that NCCL refuses, or in which it hangs, tells something about the
# machine: it fails G2 only if no other way passes. Wrong results fail G2 in any way.
choose_share() {
    local way works='' i
    refused=() results=() other_ways=()
    for way in $(share_ways); do
        if [[ -n $works ]]; then
            other_ways+=("$way")
        else
            try_share "$way" 4
            if [[ $run_outcome == pass ]]; then works=$way; fi
        fi
    done
    for i in "${!refused[@]}"; do
        if [[ -n $works ]]; then notes[$check]+="; not used: ${refused[$i]}"; else note "${results[$i]}" "${refused[$i]}"; fi
    done
    share=${works:-$(share_ways | head -n 1)}
    if [[ -n $works ]] && ((${#quick[@]} == 0)); then
        by_nccl "$ranks"
        label="$(plural "$ranks") that share GPUs by $(share_words)"
        if job "$ranks" gpu-check "${quick[@]}" --only G2; then judge G2; fi
    fi
}

# Once one way works, the others only tell something about the machine, for which they get little time at the end.
try_other_ways() {
    local way works=$share each
    refused=() results=()
    for way in "${other_ways[@]}"; do try_share "$way" 10; done
    for each in "${refused[@]}"; do notes[$check]+="; not used: $each"; done
    share=$works
}

# Tries one way for that part of the check's time, so that one that hangs leaves time for the rest. What is neither a pass
# nor a wrong result is added to refused and results, and does not decide about the check yet.
try_share() {
    local part=$2 before=${outcome[$check]:-} noted=${notes[$check]:-}
    local allowed=$((limit[$check] / part > shortest_try ? limit[$check] / part : shortest_try))
    local own_deadline=$((SECONDS + allowed < own_deadline ? SECONDS + allowed : own_deadline))
    local deadline=$((own_deadline < deadline ? own_deadline : deadline))
    share=$1
    by_nccl "$ranks"
    label="$(plural "$ranks") that share GPUs by $(share_words), small tensors"
    if job "$ranks" gpu-check --quick --only G2; then judge G2; fi
    if [[ $run_outcome != pass ]] && ! grep -qaE '^CHECK G2\.[a-z-]+ fail ' "$work/out"; then
        results+=("$run_outcome")
        refused+=("${notes[$check]:${#noted}}")
        refused[-1]=${refused[-1]#; }
        outcome[$check]=$before notes[$check]=$noted
    fi
}

share_ways() {
    if [[ -n $forced_share ]]; then
        echo "$forced_share"
    elif ((nccl_code >= 23000)); then
        printf '%s\n' multi-rank host-id multi-rank-host-id
    else
        echo host-id
    fi
}

# The last rank ends without a word; the others must say so within seconds, and the job must fail.
rank_dies() {
    local name=$1
    label='a rank dies in the middle of an allreduce'
    if job "$((ranks > 1 ? ranks : 2))" gpu-check "${quick[@]}" --rank-dies; then
        judge "$name" any-code
        if ((code == 0)); then note fail "$label: exit code 0"; fi
    fi
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
        if job "$count" gpu-check "${quick[@]}" --only G3; then judge G3; fi
    done
    if ((ranks > 1)); then rank_dies G3; fi
}

check_G4() {
    local ratios
    wrapper=() label='1 rank'
    if ! job 1 gpu-check "${quick[@]}" --only G4; then return; fi
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
    # On a CPU each training reaches more than this.
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

# Prints why LibTorch cannot use a GPU here; nothing if it may be able to.
no_torch_for_gpus() {
    if [[ -z $torch_for_gpus ]]; then
        echo "this train.jar has no LibTorch for GPUs, which mvn -Pgpu -DskipTests package takes"
    elif ((${#missing_for_torch[@]} > 0)); then
        echo "LibTorch's build for GPUs does not find $(printf '%s\n' "${missing_for_torch[@]}" | joined)"
    fi
}

check_G8() {
    local count example reason
    local -a steps=()
    reason=$(no_torch_for_gpus)
    if [[ -n $reason ]]; then note not-run "$reason" && return; fi
    # Whether it works shows in a few steps; what it learns does not.
    if ((${#quick[@]} > 0)); then steps=(--max-steps 20); fi
    for example in "${torch_examples[@]}"; do
        for count in $(counts); do
            by_default "$count"
            label="$example, $(plural "$count")"
            # shellcheck disable=SC2086 # several words
            if job "$count" "$(example_of "$example")" --device cuda ${training[$example]} "${steps[@]}"; then judge_torch "$example"; fi
        done
    done
}

# The name by which train.jar knows a training of G8.
example_of() {
    local name=${1%-amp}
    printf '%s' "${name%-sharded}"
}

# A training passes if it has learned what it learns on a CPU.
judge_torch() {
    local example=$1 line accuracy
    local name
    name=$(example_of "$example")
    line=$(grep -aE "^RESULT example=$name " "$work/out" | tail -n 1 || true)
    accuracy=$(sed -nE 's/.* accuracy=([0-9.]+).*/\1/p' <<<"$line")
    if ((code != 0)) || [[ -z $accuracy ]]; then
        note fail "$label: exit code $code; $(refusal_or_last_words)"
    elif ((${#quick[@]} == 0)) && ! awk -v floor="${surpassed[$example]}" -v found="$accuracy" 'BEGIN { exit !(found > floor) }'; then
        note fail "$label: ${line#RESULT }, and the accuracy is not above ${surpassed[$example]}"
    else
        note pass "$label: ${line#RESULT example="$name" }"
    fi
}

# An error's sentence says more than the end of its stack trace.
refusal_or_last_words() {
    local refused
    refused=$(grep -a '^hvd: FAILED: ' "$work/out" | grep -m 1 -o '\[HVD-[0-9]*\].*' || true)
    if [[ -n $refused ]]; then printf '%s\n' "$refused" | shortened; else last_words; fi
}

# LibTorch's own collectives go over NCCL.
check_G9() {
    local reason
    local -a sizes=(--factor 4)
    reason=$(no_torch_for_gpus)
    if [[ -z $reason ]]; then reason=$no_nccl; fi
    if [[ -n $reason ]]; then note not-run "$reason" && return; fi
    by_nccl "$ranks"
    label=$(plural "$ranks")
    if ((ranks > gpus)); then
        label+=" that share GPUs by $(share_words)"
        if ((${#quick[@]} == 0)); then sizes+=(--end 8M); fi
    fi
    if job "$ranks" gpu-check "${quick[@]}" "${sizes[@]}" --only G9; then judge G9; fi
    if ((ranks > gpus)); then notes[G9]+="; ranks that share a GPU take turns on it, so that their times say nothing about speed"; fi
}

check_G6() {
    local sanitizer
    sanitizer=$(find_sanitizer || true)
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
    local count reason last_bytes=$((128 << 20))
    local -a sizes in_c
    # C goes as far as hvd does.
    if ((${#quick[@]} > 0)); then last_bytes=$((64 << 10)); fi
    reason=$(find_calls)
    for count in $(counts); do
        by_default "$count"
        sizes=() in_c=("$calls" "$count" "$last_bytes") label="hvd, $(plural "$count")"
        if ((count > gpus)); then
            # Large tensors of such ranks take long and tell nothing.
            label+=' on one GPU'
            if ((${#quick[@]} == 0)); then sizes=(--end 8M) in_c[2]=$((8 << 20)); fi
            if [[ $share == *host-id ]]; then in_c+=(host-ids); fi
            if [[ $share == multi-rank* ]]; then in_c=(env "${multi_rank[@]}" "${in_c[@]}"); fi
        fi
        if job "$count" gpu-check "${quick[@]}" "${sizes[@]}" --only G7; then judge G7; fi
        sweep_rows
        if [[ -n $reason ]]; then continue; fi
        label="C, ${label#hvd, }"
        if attempt "${in_c[@]}"; then
            if ((code == 0)); then note pass "$label: in the table"; else note fail "$label: exit code $code; $(last_words)"; fi
            sed -nE 's/^bytes:microseconds([ 0-9:.]*).*/\1/p' "$work/out" | tr ' ' '\n' \
                | awk -F : -v label="$label" 'NF == 2 { print $1 "\t" label "\t" $2 }' >>"$work/times"
        fi
    done
    if [[ -n $reason ]]; then notes[G7]+="; C: not-run, $reason"; fi
    if ((ranks > gpus)); then notes[G7]+="; ranks that share a GPU take turns on it, so that their times say nothing about speed"; fi
}

# Adds "bytes TAB label TAB microseconds" for each row of an allreduce.
sweep_rows() {
    awk -v label="$label" '$1 == "allreduce" && $2 ~ /^[0-9]+$/ && NF == 6 { print $2 "\t" label "\t" $3 }' "$work/out" >>"$work/times"
}

# Prints why there is no program in C to compare with; nothing if there is, at $calls. A bundle brings it; in a checkout
# a C compiler makes it in a second.
find_calls() {
    local compiler
    if [[ -n $no_nccl ]]; then echo "$no_nccl" && return; fi
    if [[ -x $here/gpu/calls ]]; then
        cp "$here/gpu/calls" "$calls"
        return
    fi
    compiler=$(command -v cc || command -v gcc || command -v clang || true)
    if [[ -z $compiler ]]; then
        echo "there is neither gpu/calls nor a C compiler (cc, gcc, clang)"
    elif ! timeout "$versions_limit" "$compiler" -O2 -o "$calls" "$here/gpu/calls.c" -ldl >"$work/out" 2>&1 </dev/null; then
        echo "$compiler did not compile calls.c: $(grep -m 1 -a error "$work/out" || echo 'no reason given')"
    fi
}
