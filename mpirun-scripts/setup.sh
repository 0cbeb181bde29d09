#!/usr/bin/env bash
# Makes a Debian or Ubuntu machine ready to build and run hvd: a JDK (17 or newer), Maven, Open MPI and its mpi.jar.
# Does only what is missing, so it may be called any number of times. Needs root or sudo only to install packages.
# quickstart.sh and test.sh source it: they then run with the JDK and the Open MPI found here.
# With wants_mpi=no in the shell that sources it, it leaves out Open MPI and mpi.jar.
#
# Where mpirun is MPICH's or Intel MPI's, it takes or installs a JDK of 22 or newer, makes no mpi.jar, and leaves wants_mpi=foreign.
#
#   JAVA_HOME         the JDK to use; otherwise the javac on PATH, otherwise one below /usr/lib/jvm
#   HVD_OPENMPI_HOME  prefix of the Open MPI to use (bin/mpirun below it); otherwise the mpirun on PATH
set -euo pipefail

setup_parts="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" >/dev/null && pwd)/setup"
# shellcheck source=mpirun-scripts/setup/tools.sh
. "$setup_parts/tools.sh"
# shellcheck source=mpirun-scripts/setup/packages.sh
. "$setup_parts/packages.sh"
# shellcheck source=mpirun-scripts/setup/source-package.sh
. "$setup_parts/source-package.sh"
# shellcheck source=mpirun-scripts/setup/mpi-jar.sh
. "$setup_parts/mpi-jar.sh"

setup_machine() {
    local began=$SECONDS packages_done prefix version
    begin_quiet_log
    install_missing_packages
    use_jdk
    if [[ $wants_mpi == no ]]; then
        printf 'setup: JDK %s (%s), Maven %s, no MPI; packages %d s\n' \
            "$(jdk_version "$JAVA_HOME")" "$JAVA_HOME" "$(maven_version)" $((SECONDS - began))
        return
    fi
    use_mpi
    if [[ $wants_mpi == foreign ]]; then
        printf 'setup: JDK %s (%s), Maven %s, %s (%s), which needs no mpi.jar; packages %d s\n' \
            "$(jdk_version "$JAVA_HOME")" "$JAVA_HOME" "$(maven_version)" "$(hydra_version)" \
            "$(openmpi_prefix)" $((SECONDS - began))
        return
    fi
    packages_done=$SECONDS
    prefix=$(openmpi_prefix)
    version=$(openmpi_version)
    install_mpi_jar "$prefix" "$version"
    printf 'setup: JDK %s (%s), Maven %s, Open MPI %s (%s), mpi.jar %s; packages %d s, mpi.jar %d s\n' \
        "$(jdk_version "$JAVA_HOME")" "$JAVA_HOME" "$(maven_version)" "$version" "$prefix" "$version" \
        $((packages_done - began)) $((SECONDS - packages_done))
}

setup_machine
