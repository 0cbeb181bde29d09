# shellcheck shell=sh
# Runs one rank of a job for the launcher, which ssh connects to standard input. The orders come there, one in a line, with \n
# for an end of line and \\ for a backslash: "export NAME=VALUE", "directory DIR", "input" if the rank is to read what another
# call writes, "word WORD" for each word of the command, and "start". Then "signal NAME" sends the rank a signal, and the end
# of the orders, which a launcher that is killed brings about too, ends the rank. It says "hvd-rank-started PID" before the
# rank begins, with the named pipe for its input behind, and has its exit code.

# Whether this process is of this rank: one that has ended is not, nor is a stranger with the same number. Where /proc or grep
# does not show environments, as on macOS, its number alone counts.
of_rank() {
    if [ "$shown" ]; then
        grep -qszFx "HVD_FAILURE_DIR=$HVD_FAILURE_DIR" "/proc/$1/environ" \
            && grep -qszFx "HOROVOD_RANK=$HOROVOD_RANK" "/proc/$1/environ"
    else
        signal 0 "$1"
    fi
}

# Asks again for a second: a process that is just executing a program shows nothing, and the rank shows nothing before its
# first one.
lives() {
    asked=0
    until of_rank "$1"; do
        [ -e "/proc/$1/exe" ] && [ $asked -lt 10 ] || return
        asked=$((asked + 1))
        sleep 0.1
    done
}

# To the group of this process, or to it alone where it has none.
signal() {
    kill -s "$1" -- "-$2" || kill -s "$1" "$2"
}

# Ends what is left of the rank by force. Whoever is killed may just have begun a child, which nothing shows while it begins
# to execute its program; hence two looks that find nothing. A look at all processes is one
# program, since on a busy host every program that starts takes its time.
sweep() {
    empty=0 looks=10
    while [ $empty -lt 2 ] && [ $looks -gt 0 ]; do
        empty=$((empty + 1)) looks=$((looks - 1))
        for process in $(cd /proc 2>/dev/null && grep -lszFx "HVD_FAILURE_DIR=$HVD_FAILURE_DIR" [0-9]*/environ); do
            of_rank "${process%/environ}" && kill -9 "${process%/environ}" && empty=0
        done
    done
}

send() {
    lives "$2" && signal "$1" "$2"
}

# Obeys the orders behind "start" for the process with this number.
obey() {
    trap "" HUP INT TERM
    while read -r order name; do
        [ "$order" != signal ] || send "$name" "$1"
    done
    lives "$1" || exit
    send TERM "$1"
    sleep 1
    send KILL "$1"
    sweep
}

line='' input='' shown=''
grep -qsz . /proc/self/environ && shown=yes
trap '[ -z "$input" ] || rm -rf "$input"' EXIT
while [ "$line" != start ]; do
    IFS= read -r line || exit 1
    case $line in
        *\\*) line=$(printf "%b." "$line") && line=${line%.} ;;
    esac
    case $line in
        "export "*) export "${line#export }" ;;
        "directory "*) cd "${line#directory }" || exit 1 ;;
        input) input=$(mktemp -d) && mkfifo "$input/in" || exit 1 ;;
        "word "*) set -- "$@" "${line#word }" ;;
    esac
done
exec 3<&0 </dev/null
(
    rank=$(exec sh -c "echo \$PPID")
    # By exec, since a shell keeps copies of what it redirects otherwise, and ssh waits for the end of its output.
    ( (exec <&3 3<&- >/dev/null 2>&1 && obey "$rank") & )
    echo "hvd-rank-started $rank${input:+ $input/in}"
    exec 3<&-
    # shellcheck disable=SC2016 # for a process that has the rank's environment while it waits for the other end
    [ -z "$input" ] || set -- sh -c 'exec <"$0/in" && rm -r "$0" && exec "$@"' "$input" "$@"
    command -v setsid >/dev/null && exec setsid "$@"
    exec "$@"
)
code=$?
[ $code = 0 ] || sweep
exit $code
