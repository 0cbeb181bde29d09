#!/bin/bash
# Several hosts on one machine, for tests: each is a network, host name and mount namespace with an sshd of its own,
# all on one switch. Nothing outside FOLDER is written. Needs root, sshd, ip, unshare and nsenter.
#
#   namespaces.sh FOLDER up node-a node-b ...   returns when every sshd answers
#   namespaces.sh FOLDER up6 node-a node-b ...  the same, with IPv6 alone, even inside a host
#   namespaces.sh FOLDER on node-a COMMAND...   becomes that command, on that host
#   namespaces.sh FOLDER cut node-a             pulls its network cable
#   namespaces.sh FOLDER mend node-a            puts it back
#   namespaces.sh FOLDER down
#
# FOLDER/private is a folder of each host's own.
# Besides eth0 every host has a docker0 with one and the same address, as on real hosts with Docker.
set -euo pipefail
folder=$1 action=$2
shift 2
port=2222
network=10.71.0. bits=24 inside=172.17.0.1/16 localhost=127.0.0.1 nodad=()
if [[ $action = up6 ]]; then network=fd71:: bits=64 inside=fd17::1/64 localhost=::1 nodad=(nodad); fi

# Tries a command for ten seconds.
await() {
    local attempt
    for ((attempt = 0; attempt < 200; attempt++)); do
        if "$@"; then return; else sleep 0.05; fi
    done
    cat "$folder"/*/log >&2
    echo "namespaces.sh: in vain: $*" >&2
    exit 1
}

# The first process of a host keeps its namespaces; it is sshd as soon as the file "go" is there.
start_host() {
    local host=$1
    mkdir -p "$folder/$host"
    echo "$host" >"$folder/$host/hostname"
    # shellcheck disable=SC2016 # expands in the new namespaces
    unshare --net --uts --mount --propagation private bash -euc '
        folder=$1 host=$2
        hostname "$host"
        mount --bind "$folder/hosts" /etc/hosts
        mount --bind "$folder/$host/hostname" /etc/hostname
        mount --bind "$folder/ssh_config" /etc/ssh/ssh_config
        mount -t tmpfs tmpfs /dev/shm
        mkdir -p "$folder/private"
        mount -t tmpfs tmpfs "$folder/private"
        mount -t sysfs sysfs /sys
        mkdir -p /run/sshd
        touch "$folder/$host/ready"
        until [[ -e $folder/go ]]; do sleep 0.05; done
        exec /usr/sbin/sshd -D -e -f "$folder/sshd_config"
    ' host "$folder" "$host" </dev/null >"$folder/$host/log" 2>&1 &
    echo $! >"$folder/$host/pid"
}

plug_in() {
    local host=$1 address=$2 pid switch
    pid=$(<"$folder/$host/pid") switch=$(<"$folder/switch.pid")
    await test -e "$folder/$host/ready"
    nsenter -t "$switch" -n ip link add "$host" type veth peer name eth0 netns "$pid"
    nsenter -t "$switch" -n ip link set "$host" master switch up
    nsenter -t "$pid" -n ip link set lo up
    if [[ $action = up6 ]]; then nsenter -t "$pid" -n ip addr del 127.0.0.1/8 dev lo; fi
    nsenter -t "$pid" -n ip addr add "$address/$bits" dev eth0 "${nodad[@]}"
    nsenter -t "$pid" -n ip link set eth0 up
    nsenter -t "$pid" -n ip link add docker0 type bridge
    nsenter -t "$pid" -n ip addr add "$inside" dev docker0 "${nodad[@]}"
    nsenter -t "$pid" -n ip link set docker0 up
}

write_files() {
    local number=0 host
    ssh-keygen -q -t ed25519 -N '' -f "$folder/id"
    ssh-keygen -q -t ed25519 -N '' -f "$folder/stranger"
    ssh-keygen -q -t ed25519 -N '' -f "$folder/hostkey"
    echo "$localhost localhost" >"$folder/hosts"
    for host; do echo "$network$((++number)) $host" >>"$folder/hosts"; done
    printf '%s\n' "Host *" " UserKnownHostsFile $folder/known_hosts" " HashKnownHosts no" >"$folder/ssh_config"
    printf '%s\n' "Port $port" "HostKey $folder/hostkey" "AuthorizedKeysFile $folder/id.pub" 'StrictModes no' \
        'PasswordAuthentication no' 'KbdInteractiveAuthentication no' 'UsePAM no' 'PidFile none' \
        'PermitRootLogin prohibit-password' 'PermitUserEnvironment no' >"$folder/sshd_config"
}

answers() (on "$1" bash -c "exec 3<>/dev/tcp/localhost/$port" 2>/dev/null)

up() {
    local number=0 host
    write_files "$@"
    # shellcheck disable=SC2016 # expands in the new namespace
    unshare --net sh -c 'touch "$0"; exec sleep infinity' "$folder/switch.ready" </dev/null >/dev/null 2>&1 &
    echo $! >"$folder/switch.pid"
    await test -e "$folder/switch.ready"
    nsenter -t "$(<"$folder/switch.pid")" -n ip link add switch type bridge
    nsenter -t "$(<"$folder/switch.pid")" -n ip link set switch up
    for host; do start_host "$host"; done
    for host; do plug_in "$host" "$network$((++number))"; done
    touch "$folder/go"
    for host; do await answers "$host"; done
}

on() {
    local host=$1
    shift
    exec nsenter -t "$(<"$folder/$host/pid")" -n -u -m --wd="$PWD" -- "$@"
}

# At the switch: on the host itself the address and the routes stay, as they do on a real one.
cable() { nsenter -t "$(<"$folder/switch.pid")" -n ip link set "$1" "$2"; }

down() {
    local file
    for file in "$folder"/*/pid "$folder/switch.pid"; do
        if [[ -e $file ]]; then kill "$(<"$file")" 2>/dev/null || true; fi
    done
}

case $action in
    up | up6) up "$@" ;;
    on) on "$@" ;;
    cut) cable "$1" down ;;
    mend) cable "$1" up ;;
    down) down ;;
esac
