# Installs the distribution's packages that this machine lacks, in one apt-get call. Sourced by setup.sh.

missing_packages() {
    jdk_home 17 >/dev/null || jdk_package
    has mvn || echo maven
    if [[ $wants_mpi != no ]]; then
        [[ -n ${HVD_OPENMPI_HOME:-} ]] || has mpirun || echo openmpi-bin
        has xz || echo xz-utils
    fi
    [[ -e /etc/ssl/certs/ca-certificates.crt || -d /etc/pki ]] || echo ca-certificates
}

# Newer distributions have no JDK 17 any more, and older ones have a default below 17.
jdk_package() {
    if apt-cache show openjdk-17-jdk-headless >/dev/null 2>&1; then
        echo openjdk-17-jdk-headless
    else
        echo default-jdk-headless
    fi
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
