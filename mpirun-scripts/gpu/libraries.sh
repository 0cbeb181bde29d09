# Which of NVIDIA's libraries there are, where they lie, and which are missing. Sourced by gpu-check.sh, which sets $folder
# and $jar.
# shellcheck shell=bash disable=SC2034 # gpu-check.sh and the other parts read these variables

library_folders=() missing=() missing_for_torch=()
cudart='' nccl='' torch_for_gpus=''
# What LibTorch's build for GPUs needs, by the names under which it asks for them. The last four are parts of cuDNN.
for_torch=(
    libcudart.so.13 libnccl.so.2 libcublas.so.13 libcublasLt.so.13 libcudnn.so.9 libcufft.so.12 libcufile.so.0
    libcupti.so.13 libcurand.so.10 libcusolver.so.12 libcusparse.so.12 libnvJitLink.so.13 libnvrtc.so.13
    libcudnn_ops.so.9 libcudnn_cnn.so.9 libcudnn_adv.so.9 libcudnn_graph.so.9
)

# Folders of NVIDIA's packages for Python, which bring CUDA's and NCCL's libraries.
python_packages() {
    { command -v python3 >/dev/null && python3 -c 'import nvidia; print(*nvidia.__path__, sep="\n")' 2>/dev/null; } || true
}

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
    file=$(loader_cache | sed -n "s:.*$name .*=> ::p" | head -n 1)
    if [[ -n $file ]]; then printf '%s (ldconfig)\n' "$file"; fi
}

loader_cache() { ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null || true; }

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
        if [[ :${LD_LIBRARY_PATH:-}: != *:$place:* ]]; then
            export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$place
        fi
    fi
}

# What a library needs that is not there: other libraries, or a newer glibc.
needs_of() {
    command -v ldd >/dev/null || return 0
    ldd "${1%% (*}" 2>&1 | sed -nE "s/^[[:space:]]*([^ ]+) => not found.*/\1/p; s/.*version \`([^']+)' not found.*/\1/p" | sort -u
}

require() {
    local name=$1 found=$2 what_for=$3 need
    if [[ -z $found ]]; then
        missing+=("$name ($what_for)")
        return
    fi
    while read -r need; do
        missing+=("$need (needed by $name)")
    done < <(needs_of "$found")
}

find_sanitizer() {
    command -v compute-sanitizer || first_file /usr/local/cuda*/bin/compute-sanitizer \
        /usr/local/cuda*/compute-sanitizer/compute-sanitizer
}

find_libraries() {
    local package jars
    while read -r package; do
        library_folders+=("$package"/*/lib)
    done < <(python_packages)
    library_folders+=(/usr/local/cuda*/lib64 /usr/local/cuda*/targets/x86_64-linux/lib)
    cudart=$(find_library libcudart.so.13)
    nccl=$(find_library libnccl.so.2)
    use_library "$cudart"
    use_library "$nccl"
    jars=$(dirname "$jar")/lib
    require libcuda.so.1 "$(find_library libcuda.so.1)" 'the NVIDIA driver; all checks'
    require libcudart.so.13 "$cudart" 'CUDA 13; what uses NCCL'
    require libnccl.so.2 "$nccl" 'NCCL; G2 and what else uses NCCL'
    require 'the jar jcuda-natives' "$(first_file "$jars"/jcuda-natives-*-linux-x86_64.jar)" 'all checks'
    require 'the jar cuda-linux-x86_64' "$(first_file "$jars"/cuda-*-linux-x86_64.jar)" 'what uses NCCL'
    require compute-sanitizer "$(find_sanitizer)" G6
    torch_for_gpus=$(jar_of_torch_for_gpus)
    if [[ -n $torch_for_gpus ]]; then find_libraries_for_torch; fi
    say "libcudart.so.13: ${cudart:-not found}; libnccl.so.2: ${nccl:-not found}"
    if ((${#missing[@]} > 0)); then say "missing: $(missing_text)"; fi
}

# Prints the name of LibTorch's build for GPUs if train.jar takes it. In a checkout an earlier build may have left one that
# train.jar does not name in its manifest; a bundle has no others, and need not have the tool jar.
jar_of_torch_for_gpus() {
    local names=''
    if [[ ! -f $folder/env.sh ]]; then
        # shellcheck source=/dev/null
        names=$(. "$here/bundle/jars.sh" && class_path_of "$jar" 2>/dev/null) || names=''
    fi
    if [[ -z $names ]]; then names=$(printf '%s\n' "$(dirname "$jar")"/lib/*.jar); fi
    grep -m 1 'pytorch-[^/]*-linux-x86_64-gpu\.jar$' <<<"$names" || true
}

# What these libraries need in turn lies beside them.
find_libraries_for_torch() {
    local name found
    for name in "${for_torch[@]}"; do
        found=$(find_library "$name")
        use_library "$found"
        if [[ -z $found ]]; then
            missing_for_torch+=("$name")
            # The list has these two already, for what uses NCCL.
            case $name in libcudart.* | libnccl.*) ;; *) missing+=("$name (LibTorch; G8, G9)") ;; esac
        fi
    done
}

missing_text() { printf '%s\n' "${missing[@]:-none}" | joined; }
