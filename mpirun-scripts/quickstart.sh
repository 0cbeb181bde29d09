#!/usr/bin/env bash
# From a bare Debian or Ubuntu to a trained model: set-up, build, then hvd-examples/target/train.jar on 4 ranks.
# --no-mpi does without Open MPI: ranks that horovodrun starts itself exchange their data over shared memory and TCP.
# A second call only trains, and starts sooner by the class-data archive that horovodrun has made after the first. Arguments go to the training: quickstart.sh mnist --data-dir /data/mnist
set -euo pipefail

scripts="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" >/dev/null && pwd)"
root=$(dirname "$scripts")
jar=$root/hvd-examples/target/train.jar
what=hvd build_flags=(-DskipTests) launcher=(-np 4)
if [[ ${1:-} == --no-mpi ]]; then
    shift
    wants_mpi=no
    what+=" without mpi.jar, that is without the back end mpi and the benchmarks"
    build_flags+=(-Dhvd.withoutMpi) launcher+=(--gloo)
fi
# shellcheck source=mpirun-scripts/setup.sh
. "$scripts/setup.sh"
if [[ $wants_mpi == foreign ]]; then build_flags+=(-Dhvd.withoutMpi); fi
# What calls MPI by foreign functions is built where any JDK here has them.
if jdk22=$(jdk_home 22); then build_flags+=("-Dhvd.jdk22=$jdk22"); fi

# Folders count as well: a file that was deleted or renamed leaves only its folder's time behind.
is_built() {
    local modules=("$root"/hvd-* "$root/mpirun-scripts")
    [[ $wants_mpi != yes || -f $root/hvd-examples/target/lib/mpi-java-installed.jar ]] || return 1
    [[ -f $jar && -z $(find "$root/pom.xml" "${modules[@]/%//pom.xml}" "${modules[@]/%//src/main}" -newer "$jar" -print -quit) ]]
}

build() {
    say "building $what (the first time this downloads 130 MB: LibTorch and what belongs to it)"
    quietly mvn -B -f "$root/pom.xml" "${build_flags[@]}" install
    touch -c "$jar" # Maven leaves it alone when only another module has changed
}

said_by=quickstart
began=$SECONDS
is_built || build
built=$SECONDS
# The small net is trained on the CPU: four ranks on a machine with one GPU, say.
if (($# == 0)) && [[ $wants_mpi != no ]]; then export HVD_BACKEND=${HVD_BACKEND:-mpi}; fi
say "training ${*:-digits} on 4 ranks"
"$scripts/horovodrun" "${launcher[@]}" java -jar "$jar" "$@"
echo "quickstart: build $((built - began)) s, training $((SECONDS - built)) s"
