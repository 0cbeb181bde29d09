#!/usr/bin/env bash
# Compiles the GPU kernels of hvd-core and of the example cuda-mlp to the PTX that the jars carry. To be run after a
# change of src/main/cuda in either module, or of the options below; needs nvcc and ptxas of CUDA 13. Building hvd needs
# neither: the PTX lies in src/made of the modules, and its first lines say which compiler made it, how, and of what.
#
#   kernels.sh [FOLDER [NAME]]   writes segments.ptx and mlp.ptx, or the one of them that NAME names without its ending, into
#                                FOLDER; default: src/made of the modules
#   kernels.sh --maker NAME      prints the line about options that a file made now would have; needs no compiler
set -euo pipefail
export LC_ALL=C

top="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." >/dev/null && pwd)"
core=$top/hvd-core/src
examples=$top/hvd-examples/src
# The oldest GPU that CUDA 13 compiles for, and some newer ones for which the result must compile as well.
oldest=75
others=(80 86 89 90 100 120)
# PTX ISA and the first CUDA whose driver takes it, from the release history in NVIDIA's PTX manual; 6.3 is the first
# that knows sm_75.
versions=(6.3=10.0 6.4=10.1 6.5=10.2 7.0=11.0 7.1=11.1 7.2=11.2 7.3=11.3 7.4=11.4 7.5=11.5 7.6=11.6 7.7=11.7 7.8=11.8
    8.0=12.0 8.1=12.1 8.2=12.2 8.3=12.3 8.4=12.4 8.5=12.5 8.7=12.8 8.8=12.9 9.0=13.0)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

main() {
    if [[ ${1:-} == --maker ]]; then
        options "$2"
        return
    fi
    [[ ${2:-segments} != segments ]] || translate "$core/main/cuda" segments "${1:-$core/made/io/hvd/cuda}" "numbers.cuh segments.cu"
    [[ ${2:-mlp} != mlp ]] || translate "$examples/main/cuda" mlp "${1:-$examples/made/io/hvd/examples/cuda}" "mlp.cu"
}

# nvcc's options for NAME.cu. In segments.cu, multiplying and adding in one step, or flushing subnormals, would give
# other bits than the CPU does.
flags() {
    printf -- '-ptx -arch=compute_%s -std=c++17 -O3' "$oldest"
    if [[ $1 == segments ]]; then printf -- ' -ftz=false -fmad=false'; fi
}

options() { printf '// Options: %s\n' "$(flags "$1")"; }

# translate FOLDER NAME TARGET "FILES": compiles NAME.cu, which consists of FILES, to TARGET/NAME.ptx.
translate() {
    local from=$1 name=$2 to=$3 files=$4 version words
    read -ra words <<<"$(flags "$name")"
    (cd "$from" && nvcc "${words[@]}" -o "$work/raw.ptx" "$name.cu")
    # nvcc's comments name its build and nothing that the program needs; inner names have a hash of the source's folder.
    sed -E '/^[[:space:]]*(\/\/.*)?$/d; s/_INTERNAL_[0-9a-f]{8}_/_INTERNAL_00000000_/g' "$work/raw.ptx" >"$work/plain.ptx"
    for version in "${versions[@]}"; do
        state_version "${version%=*}"
        if compiles; then
            mkdir -p "$to"
            { header "$from" "$name" "$files" "$version" && cat "$work/stated.ptx"; } >"$to/$name.ptx"
            return
        fi
    done
    echo "kernels.sh: ptxas takes the PTX of $name.cu under no version known here; what it says under the last one:" >&2
    cat "$work/log" >&2
    return 1
}

# nvcc states its own PTX version, which older drivers refuse, whatever the code needs. ptxas tells what it needs.
state_version() { sed -E "s/^\.version .*/.version $1/" "$work/plain.ptx" >"$work/stated.ptx"; }

compiles() {
    local arch
    for arch in "$oldest" "${others[@]}"; do
        ptxas "-arch=sm_$arch" -o "$work/cubin" "$work/stated.ptx" >"$work/log" 2>&1 || return 1
    done
}

# header FOLDER NAME "FILES" VERSION
header() {
    local release files
    release=$(nvcc --version | sed -n 's/.*, V//p')
    read -ra files <<<"$3"
    printf '// Made from %s.cu by mpirun-scripts/kernels.sh; changes belong there.\n' "$2"
    printf '// nvcc %s; PTX ISA %s: GPUs from sm_%s on, drivers from CUDA %s on.\n' \
        "$release" "${4%=*}" "$oldest" "${4#*=}"
    options "$2"
    printf '// SHA-256 of the code of %s: %s\n' "${3/ / and }" "$(cd "$1" && code "${files[@]}" | sha256sum | cut -d ' ' -f 1)"
}

# code FILES: their text without comments, in one line with single blanks. What is left decides what a compiler makes.
code() {
    sed 's|//.*||' "$@" | tr -s '[:space:]' ' ' | sed -E 's|/\*([^*]\|\*+[^*/])*\*+/||g' | tr -s ' ' | sed -E 's/^ //; s/ $//'
}

main "$@"
