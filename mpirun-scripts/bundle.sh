#!/usr/bin/env bash
# Makes one folder that runs on an x86-64 Linux without Java, without Open MPI and without a network: a trimmed Java
# runtime, the Open MPI of this machine, train.jar and its libraries, horovodrun, hvd-doctor, hvd-top, hvd-monitor, hvd-report. What it does not hold is
# glibc, a shell with the usual tools, and for GPUs the NVIDIA driver with CUDA's, cuDNN's and NCCL's libraries. After
# mvn -Pgpu -DskipTests package the bundle has LibTorch's build for GPUs.
#
#   mpirun-scripts/bundle.sh [--no-torch] [--no-gpu] [--check] FOLDER
#
#   --no-torch  leaves LibTorch out: for programs on plain arrays or CUDA; saves about 110 MB
#   --no-gpu    leaves JCuda and the CUDA bindings out
#   --check     as root: trains on 2 ranks in an empty root folder that holds the bundle and a shell
#
# On the other machine:  . FOLDER/env.sh && horovodrun -np 2 java -jar FOLDER/train.jar digits
# and with GPUs:         FOLDER/bin/gpu-check.sh --out record.md
set -euo pipefail

scripts="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" >/dev/null && pwd)"
root=$(dirname "$scripts")
# shellcheck source=mpirun-scripts/setup/tools.sh
. "$scripts/setup/tools.sh"
# shellcheck source=mpirun-scripts/bundle/jars.sh
. "$scripts/bundle/jars.sh"
# shellcheck source=mpirun-scripts/bundle/checks.sh
. "$scripts/bundle/checks.sh"

# Modules that hvd, LibTorch's bindings and the decoding of JPEG files use; jdk.httpserver is for hvd-report --live, and
# jdk.crypto.ec for HVD_TLS.
modules=java.base,java.desktop,java.logging,java.management,java.naming,java.xml
modules+=,jdk.crypto.ec,jdk.httpserver,jdk.jfr,jdk.management,jdk.unsupported
# The kernel's and glibc's own: a copy of them would be older or newer than the loader over there.
of_glibc='^(linux-vdso|ld-linux|libc|libm|libmvec|libpthread|libdl|librt|libresolv|libutil|libnss_.*|libanl)(-[a-z0-9_-]*)?\.so'
# Plugins for networks that an air-gapped machine may not have; TCP and shared memory stay.
fabrics='_(ucx|ofi|psm|psm2|usnic|openib|portals4|uct|cuda|knem|xpmem)\.so$'

torch=yes gpu=yes check=no folder=
for argument; do
    case $argument in
        --no-torch) torch=no ;;
        --no-gpu) gpu=no ;;
        --check) check=yes ;;
        -*) fail "unknown flag $argument; the head of ${BASH_SOURCE[0]} lists them" ;;
        *) folder=$argument ;;
    esac
done
[[ -n $folder ]] || fail "name the folder to make"
[[ ! -e $folder ]] || fail "$folder is there already"
[[ -f $root/hvd-examples/target/train.jar ]] || fail "nothing is built yet: run mvn -DskipTests package in $root first"
use_jdk
use_mpi
[[ -n $(openmpi_version) ]] || fail "a bundle holds an Open MPI; set HVD_OPENMPI_HOME to the prefix of one"
mkdir -p "$folder"
folder=$(readlink -f "$folder")

# The value of one of Open MPI's folders, such as libdir.
mpi_path() { ompi_info --parsable --path "$1" | sed -n "s/^path:$1://p" | head -n 1; }

copy_java() {
    "$JAVA_HOME/bin/jlink" --add-modules "$modules" --strip-debug --no-header-files --no-man-pages --compress=2 \
        --output "$folder/java"
}

# Below the bundle everything has the same place as below Open MPI's prefix, which OPAL_PREFIX then moves.
copy_openmpi() {
    local prefix=$1 libdir pkglibdir pkgdatadir file
    libdir=$(mpi_path libdir) pkglibdir=$(mpi_path pkglibdir) pkgdatadir=$(mpi_path pkgdatadir)
    mkdir -p "$folder/openmpi/bin" "$folder/openmpi/${libdir#"$prefix"/}" "$folder/openmpi/${pkglibdir#"$prefix"/}" \
        "$folder/openmpi/$(dirname "${pkgdatadir#"$prefix"/}")"
    for file in mpirun orted prted prterun ompi_info; do
        if [[ -e $prefix/bin/$file ]]; then cp -L "$prefix/bin/$file" "$folder/openmpi/bin/"; fi
    done
    cp -r "$pkgdatadir" "$folder/openmpi/$(dirname "${pkgdatadir#"$prefix"/}")/"
    for file in "$pkglibdir"/*.so; do
        if [[ ! $file =~ $fabrics ]]; then cp -L "$file" "$folder/openmpi/${pkglibdir#"$prefix"/}/"; fi
    done
    file=$(openmpi_java_library "$prefix")
    [[ -n $file ]] || fail "the Open MPI in $prefix has no libmpi_java.so"
    cp -L "$file" "$folder/openmpi/${libdir#"$prefix"/}/libmpi_java.so"
    file=$(ldd "$file" | sed -n 's:.*libmpi\.so.* => \([^ ]*\) .*:\1:p')
    cp -L "$file" "$folder/openmpi/${libdir#"$prefix"/}/$(basename "$file")"
    copy_pmix
}

# Debian keeps PMIx and its plugins in a prefix of their own.
copy_pmix() {
    local library home
    library=$(find "$folder/openmpi" -name 'mca_pmix_ext3x.so' -exec ldd {} + | sed -n 's:.*libpmix\.so.* => \([^ ]*\) .*:\1:p')
    [[ -n $library ]] || return 0
    home=$(dirname "$(dirname "$(readlink -f "$library")")")
    if [[ -d $home/lib/pmix ]]; then
        mkdir -p "$folder/openmpi/pmix/lib"
        cp -rL "$home/lib/pmix" "$folder/openmpi/pmix/lib/"
        cp -r "$home/share" "$folder/openmpi/pmix/"
    fi
}

copy_jars() {
    local jars jar name
    mkdir -p "$folder/lib" "$folder/bin"
    cp "$root/hvd-examples/target/train.jar" "$folder/"
    jars=$(jars_of "$root/hvd-examples/target/train.jar")
    while read -r jar; do
        name=$(basename "$jar")
        case $torch:$gpu:$name in
            no:*:pytorch-* | no:*:openblas-* | *:no:cuda-* | *:no:jcuda-*) ;;
            *) cp "$jar" "$folder/lib/" ;;
        esac
    done <<<"$jars"
    cp "$scripts/horovodrun" "$scripts/hvd-doctor" "$scripts/hvd-top" "$scripts/hvd-monitor" "$scripts/hvd-report" "$folder/bin/"
    if [[ $gpu == yes ]]; then copy_gpu_check; fi
    git -C "$root" describe --always --dirty >"$folder/version" 2>/dev/null || echo unknown >"$folder/version"
}

# With its program in C compiled here, so that nothing is built over there.
copy_gpu_check() {
    cp -r "$scripts/gpu-check.sh" "$scripts/gpu" "$folder/bin/"
    if command -v cc >/dev/null; then
        cc -O2 -o "$folder/bin/gpu/calls" "$scripts/gpu/calls.c" -ldl
    else
        say "there is no C compiler here, so that gpu-check.sh will compare G7 with C only if there is one over there"
    fi
}

# What the programs and libraries in the bundle want, and what that wants in turn.
copy_libraries() {
    local library
    mkdir "$folder/native"
    find "$folder/java" "$folder/openmpi" -type f \( -name '*.so*' -o -perm -u+x \) -exec ldd {} + 2>/dev/null \
        | sed -n 's:.* => \(/[^ ]*\) .*:\1:p' | sort -u | while read -r library; do
        if [[ ! $(basename "$library") =~ $of_glibc && $library != "$folder"/* ]]; then
            cp -L "$library" "$folder/native/"
        fi
    done
}

write_env() {
    local libdir
    libdir=$(mpi_path libdir)
    cat >"$folder/env.sh" <<'ENV'
# To be sourced: . FOLDER/env.sh
hvd_bundle=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)
export JAVA_HOME=$hvd_bundle/java OPAL_PREFIX=$hvd_bundle/openmpi
export PMIX_INSTALL_PREFIX=$hvd_bundle/openmpi/pmix PMIX_MCA_pcompress_base_silence_warning=1
export PATH=$hvd_bundle/bin:$hvd_bundle/openmpi/bin:$hvd_bundle/java/bin:$PATH
# Open MPI 4.1 looks for ssh also where all ranks are on this machine.
command -v ssh >/dev/null || export OMPI_MCA_plm=isolated
ENV
    # shellcheck disable=SC2016 # expands when env.sh is sourced
    printf 'export LD_LIBRARY_PATH=$hvd_bundle/openmpi/%s:$hvd_bundle/native${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n' \
        "${libdir#"$1"/}" >>"$folder/env.sh"
}

# A root folder with nothing but the bundle, a shell, the tools that horovodrun calls, and glibc.
check_in_bare_root() (
    [[ $(id -u) == 0 ]] || fail "--check needs root, to change the root folder"
    bare=$(mktemp -d)
    trap 'rm -rf "$bare"' EXIT
    mkdir -p "$bare"/{bin,dev/shm,etc,hvd,proc,sys,tmp,root,lib64}
    for tool in bash sh cksum dirname readlink ls id sleep env; do
        file=$(readlink -f "$(command -v "$tool")")
        cp "$file" "$bare/bin/$tool"
        ldd "$file" | sed -n 's:^[^/]*\(/[^ ]*\) .*:\1:p' | while read -r library; do
            cp --parents -L "$library" "$bare"
        done
    done
    for library in $(ldd "$folder/java/bin/java" "$folder"/java/lib/server/libjvm.so "$folder"/openmpi/bin/mpirun \
        "$folder"/native/* | sed -n 's:^[^/]*\(/[^ ]*\) .*:\1:p' | sort -u); do
        if [[ $(basename "$library") =~ $of_glibc ]]; then cp --parents -L "$library" "$bare"; fi
    done
    printf 'root:x:0:0:root:/root:/bin/bash\n' >"$bare/etc/passwd"
    printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$bare/etc/hosts"
    # shellcheck disable=SC2016 # expands in the inner shell
    unshare --mount bash -euc '
        bare=$1
        mount --bind "$2" "$bare/hvd"
        mount -t proc proc "$bare/proc"
        mount --rbind /sys "$bare/sys"
        mount -t tmpfs tmpfs "$bare/dev/shm"
        for node in null zero random urandom; do touch "$bare/dev/$node"; mount --bind "/dev/$node" "$bare/dev/$node"; done
        exec chroot "$bare" /bin/env -i HOME=/root PATH=/bin /bin/bash -euc "
            . /hvd/env.sh
            $3"
    ' check "$bare" "$folder" "$1"
)

prefix=$(openmpi_prefix)
copy_java
copy_openmpi "$prefix"
copy_jars
copy_libraries
write_env "$prefix"
printf 'bundle: %s, %s; Java %s, Open MPI %s\n' "$folder" "$(du -sh "$folder" | cut -f1)" \
    "$(jdk_version "$folder/java")" "$(openmpi_version)"
if [[ $check == yes ]]; then
    checks=$(command_with_torch)
    if [[ $torch == no ]]; then
        checks=$(command_without_torch)
    elif compgen -G "$folder/lib/pytorch-*-gpu.jar" >/dev/null; then
        checks="$(command_without_torch)
$(command_that_names_libraries)"
    fi
    check_in_bare_root "$checks"
fi
