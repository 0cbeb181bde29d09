# Installs the distribution's packages that this machine lacks, in one apt-get call. Sourced by setup.sh.

missing_packages() {
    local least=17
    if calls_by_foreign_functions; then least=22; fi
    jdk_home $least >/dev/null || jdk_package $least
    has mvn || echo maven
    if [[ $wants_mpi != no ]] && ! calls_by_foreign_functions; then
        [[ -n ${HVD_OPENMPI_HOME:-} ]] || has mpirun || echo openmpi-bin
        has xz || echo xz-utils
    fi
    [[ -e /etc/ssl/certs/ca-certificates.crt || -d /etc/pki ]] || echo ca-certificates
}

# Whether the mpirun of PATH is MPICH's or Intel MPI's, which have no mpi.jar.
calls_by_foreign_functions() {
    [[ $wants_mpi != no && -z ${HVD_OPENMPI_HOME:-} && -n $(hydra_version) ]]
}

# jdk_package LEAST: newer distributions have no JDK 17 any more, and older ones have a default below 17. Where none has the
# least version, use_mpi says so.
jdk_package() {
    local version
    for version in 17 21 25; do
        if ((version >= $1)) && apt-cache show "openjdk-$version-jdk-headless" >/dev/null 2>&1; then
            echo "openjdk-$version-jdk-headless"
            return
        fi
    done
    jdk_home 17 >/dev/null || echo default-jdk-headless
}

install_missing_packages() {
    local missing
    [[ -n $(missing_packages) ]] || return 0
    can_install || fail "ask the administrator for: $(apt_line)"
    # One broken source among several is no reason to stop: the installation itself tells what it cannot get.
    say "updating apt's lists of packages"
    quietly as_root apt-get update || say "going on although apt-get update failed"
    mapfile -t missing < <(missing_packages)
    install_packages "${missing[@]}"
}

install_packages() {
    say "installing $*"
    quietly as_root apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 "$@"
}

apt_line() { echo "apt-get install --no-install-recommends $(missing_packages | paste -sd ' ')"; }

can_install() {
    has apt-get || return 1
    ((EUID == 0)) || { has sudo && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; }
}

as_root() {
    local command=(env DEBIAN_FRONTEND=noninteractive "$@")
    if ((EUID == 0)); then "${command[@]}"; else sudo "${command[@]}"; fi
}
