# shellcheck shell=sh
# Ends mpirun if it still runs after a time that a sound one never needs; io.hvd.transport.mpi.openmpi.LauncherLimit
# starts it by sh -c, in a session and with an environment of its own.
#
#   $1  the launcher's process
#   $2  the limit in tenths of a second
#   $3  the folder in which the launcher keeps the files of its session
#   $4  from when the limit counts: from now; from when the ranks have ended, of which others may be elsewhere; or from
#       when those of this host have ended, which are all
#
# A process is known by its number and its start time. In /proc/PID/stat the state is the first and the start time the
# twentieth word after the name, which may contain blanks itself.
trap '' HUP INT TERM
pid=$1 tenths=$2 folder=$3 from=$4

start_of() {
    read -r line <"/proc/$1/stat" || return 1
    # shellcheck disable=SC2086 # words
    set -- ${line##*) }
    [ "$1" != Z ] && echo "${20}"
} 2>/dev/null

start=$(start_of "$pid") || exit 0

ends_within() {
    left=$1
    while [ "$left" -gt 0 ]; do
        [ "$(start_of "$pid")" = "$start" ] || return 0
        sleep 0.2 || sleep 1 || exit 1
        left=$((left - 2))
    done
    return 1
}

# Whether all its children here are zombies. It may have none, if it has none elsewhere either.
takes_no_notice() {
    children=$(cat "/proc/$pid"/task/*/children)
    [ -n "$children" ] || [ "$from" = host ] || return 1
    for child in $children $pid; do
        read -r line <"/proc/$child/stat" || return 1
        case ${line##*) } in
            Z*) [ "$child" != "$pid" ] || return 1 ;;
            T* | t*) return 1 ;;
            *) [ "$child" = "$pid" ] || return 1 ;;
        esac
    done
    for thread in "/proc/$pid"/task/*; do
        writes "$thread" && return 1
    done
    return 0
} 2>/dev/null

# Whether the thread $1 waits until its standard output or error is read: in write or writev, of x86 or ARM.
writes() {
    if read -r call fd rest <"$1/syscall"; then
        case $call:$fd in
            1:0x[12] | 20:0x[12] | 64:0x[12] | 66:0x[12]) return 0 ;;
            *) return 1 ;;
        esac
    fi
    # Not to be seen by us: then only a place where nothing is written is certain.
    read -r place <"$1/wchan"
    case $place in *poll* | *futex* | ep_* | sk_wait_data | hrtimer* | sigsuspend) return 1 ;; esac
}

# Returns when it has taken no notice for that long; ends the shell when the launcher ends, or in a minute.
await_neglect() {
    neglected=0 looks=300
    while [ "$neglected" -lt "$tenths" ]; do
        [ "$(start_of "$pid")" = "$start" ] && [ "$looks" -gt 0 ] || exit 0
        sleep 0.2 || sleep 1 || exit 1
        looks=$((looks - 1))
        if takes_no_notice; then neglected=$((neglected + 2)); else neglected=0; fi
    done
}

# The connections to other hosts: without the launcher nobody would end those whose host has disappeared.
connections() {
    for stat in /proc/[0-9]*/stat; do
        read -r line <"$stat" || continue
        case $line in *"(ssh) "[A-Z]" $pid "*) echo "${line%% *}" ;; esac
    done
} 2>/dev/null

tidy() {
    for ssh in $1; do
        kill "$ssh"
    done
    user=$(id -u)
    for session in "$folder"/ompi.*."$user"/pid."$pid" "$folder"/prte.*."$pid"."$user" "$folder"/prterun.*."$pid"."$user"; do
        # Somebody else may have laid a link there.
        if [ -d "$session" ] && [ -O "$session" ] && [ ! -L "${session%/*}" ] && [ ! -L "$session" ]; then
            rm -rf "$session"
        fi
    done
} 2>/dev/null

if [ "$from" != now ]; then
    await_neglect
elif ends_within "$tenths"; then
    exit 0
fi
connections=$(connections)
# Open MPI 4.1's mpirun crashes on one signal in this state, and ends in order when it finds two.
kill -STOP "$pid" && kill -INT "$pid" && kill -TERM "$pid"
kill -CONT "$pid"
ends_within 30 || kill -KILL "$pid"
tidy "$connections"
