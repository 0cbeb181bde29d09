package io.hvd.transport.mpi.openmpi;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A limit for the launcher's own end. Open MPI's mpirun may wait for ever for a host whose cable is cut, or for a
 * stranger at one of its ports, after all ranks of its host have ended. A shell that outlives the ranks ends mpirun if
 * it still runs after a time that a sound mpirun never needs.
 */
public final class LauncherLimit {
    /** Long enough for the pause of two seconds and more that mpirun makes between its signals to the ranks. */
    static final Duration STANDARD = Duration.ofSeconds(10);

    /** How much later each further rank of a host does it, in case the ranks before it cannot. */
    private static final Duration APART = Duration.ofSeconds(3);

    /**
     * Its words are the launcher's process, the limit in tenths of a second, the folder in which the launcher keeps the
     * files of its session, and from when the limit counts. A process is known by its number and its start time: in
     * {@code /proc/PID/stat} the state is the first and the start time the twentieth word after the name, which may
     * contain blanks itself. It counts from {@code now}, or from when the {@code ranks} have ended, on several hosts or
     * on this {@code host} alone.
     */
    private static final String SCRIPT = """
            trap '' HUP INT TERM
            pid=$1 tenths=$2 folder=$3 from=$4

            start_of() {
                read -r line <"/proc/$1/stat" || return 1
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
                case $place in *poll* | *epoll* | *futex* | ep_* | sk_wait_data | hrtimer* | sigsuspend) return 1 ;; esac
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
            """;

    private LauncherLimit() {}

    /**
     * For a job that has failed. Begins now; what this rank still does counts. Where no shell can be started there is
     * no limit.
     *
     * @param first whether this is the first rank of its host that lives
     */
    public static void begin(boolean first) {
        MpiLauncher.launcherOfOneJob()
                .ifPresent(pid -> begin(pid, first ? STANDARD : STANDARD.plus(APART), temporaryFolder(), From.NOW));
    }

    /**
     * For a job that has ended well: begins when all processes that the launcher has started on this host have ended
     * and are still there as zombies, which a sound launcher takes notice of at once. As long as one lives, such as a
     * program of another kind in the same job, there is no limit. There is none either while the launcher waits for the
     * reader of its output.
     *
     * @param ofOneHost whether all ranks are on this host: then a launcher that has taken notice and stays is ended,
     *     too
     */
    public static void beginAfterTheRanks(boolean ofOneHost) {
        MpiLauncher.launcherOfOneJob()
                .ifPresent(
                        pid -> begin(pid, STANDARD, temporaryFolder(), ofOneHost ? From.ENDS_OF_ONE_HOST : From.ENDS));
    }

    /** When a limit begins to count. */
    enum From {
        NOW("now"),
        /** When the processes on this host have ended. */
        ENDS("ranks"),
        /** When the processes on this host have ended, which are all that the launcher has ever started. */
        ENDS_OF_ONE_HOST("host");

        private final String word;

        From(String word) {
            this.word = word;
        }
    }

    /** @param folder the one in which the launcher keeps the files of its session */
    static void begin(long pid, Duration limit, Path folder, From from) {
        try {
            List<String> line = new ArrayList<>(List.of("sh", "-c", SCRIPT, "hvd-launcher-limit"));
            line.addAll(
                    List.of(String.valueOf(pid), String.valueOf(limit.toMillis() / 100), folder.toString(), from.word));
            if (Files.isExecutable(Path.of("/usr/bin/setsid"))) {
                line.add(0, "/usr/bin/setsid"); // what ends a rank's process group or session does not end this
            }
            ProcessBuilder builder = new ProcessBuilder(line)
                    .directory(Path.of("/").toFile())
                    .redirectInput(Path.of("/dev/null").toFile())
                    .redirectOutput(Redirect.DISCARD)
                    .redirectError(Redirect.DISCARD);
            Map<String, String> environment = builder.environment();
            environment.clear(); // a launcher tells the processes of its job by what is in there
            environment.put("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
            builder.start();
        } catch (IOException | LinkageError | OutOfMemoryError e) {
            // No process, no thread, or no file descriptor is left. Nothing that the user could do anything about, and
            // usually mpirun ends by itself.
        }
    }

    private static Path temporaryFolder() {
        return Path.of(System.getenv().getOrDefault("TMPDIR", "/tmp"));
    }
}
