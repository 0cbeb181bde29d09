package io.hvd.launch.process;

import io.hvd.error.FailureRecord;
import io.hvd.launch.mpi.MpiInstall;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * A shell beside a job that outlives the launcher: whoever kills the launcher closes the pipe between them, and the
 * shell ends mpirun, or the ranks that the launcher itself has started, what is left of the ranks on this machine, and
 * the folder of their records. While the launcher lives, the shell sends the signals that it is told to.
 */
public final class JobWatch implements Closeable {

    /** mpirun has ten seconds to end, as under {@link MpiJob#end}, and gives its ranks one of them. */
    private static final int MPIRUN_TENTHS = 100;

    private static final int RANK_TENTHS = 10;

    /**
     * Its words are the folder, and the tenths of a second for a polite end. It is told numbers of processes, with a
     * minus before that of a group, and signals, a word before each saying which it is. A process of the job is told by
     * the folder in its environment: one that has ended has none, nor has a stranger with the same number. One that is
     * just executing a program shows none either, so that the processes of the job are asked again for a second, and what
     * is left is looked for until nothing is found twice: whoever is killed may just have begun a child. Where /proc or
     * grep does not show environments, as on macOS, the numbers alone count, and of what is left the groups.
     */
    private static final String SCRIPT = String.format(Locale.ROOT, """
            trap '' HUP INT QUIT TERM USR1 USR2
            folder=$1 left=$2 processes= shown=
            grep -qsz . /proc/self/environ && shown=yes
            signal() { kill -s "$1" -- "$2" || kill -s "$1" "${2#-}"; }
            of_job() {
                if [ "$shown" ]; then grep -qszFx "%s=$folder" "/proc/${1#-}/environ"; else signal 0 "$1"; fi
            }
            lives() {
                asked=0
                until of_job "$1"; do
                    [ -e "/proc/${1#-}/exe" ] && [ $asked -lt 10 ] || return
                    asked=$((asked + 1))
                    sleep 0.1
                done
            }
            send() {
                for process in $processes; do lives "$process" && signal "$1" "$process"; done
            }
            some_live() {
                for process in $processes; do lives "$process" && return; done
                return 1
            }
            while read -r what value; do
                case $what in
                    over) exit 0 ;;
                    process) processes="$processes $value" ;;
                    signal) send "$value" ;;
                esac
            done
            send TERM
            while some_live && [ $left -gt 0 ]; do sleep 0.1; left=$((left - 1)); done
            send KILL
            empty=0 looks=10
            while [ $empty -lt 2 ] && [ $looks -gt 0 ]; do
                empty=$((empty + 1)) looks=$((looks - 1))
                for process in /proc/[0-9]*; do
                    of_job "${process#/proc/}" && kill -9 "${process#/proc/}" && empty=0
                done
                [ $empty -eq 0 ] || sleep 0.1
            done
            rm -f -- "$folder"/*
            rmdir -- "$folder"
            """, FailureRecord.DIRECTORY_VARIABLE);

    private final OutputStream pipe;

    private JobWatch(OutputStream pipe) {
        this.pipe = pipe;
    }

    static JobWatch overMpirun(Process mpirun, Path folder, Map<String, String> environment) throws IOException {
        JobWatch watch = begin(folder, MPIRUN_TENTHS, environment);
        watch.say("process " + mpirun.pid());
        return watch;
    }

    /** Over ranks that are still to be {@linkplain #addRank added}. */
    public static JobWatch overRanks(Path folder, Map<String, String> environment) throws IOException {
        return begin(folder, RANK_TENTHS, environment);
    }

    /** @param environment says where programs are; the shell itself gets nothing else of it */
    private static JobWatch begin(Path folder, int tenths, Map<String, String> environment) throws IOException {
        List<String> words =
                new ArrayList<>(List.of("sh", "-c", SCRIPT, "hvd-watch", folder.toString(), Integer.toString(tenths)));
        MpiInstall.onPath("setsid", environment).ifPresent(setsid -> words.add(0, setsid.toString()));
        var builder = new ProcessBuilder(words)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().keySet().clear();
        Optional.ofNullable(environment.get("PATH"))
                .ifPresent(path -> builder.environment().put("PATH", path));
        return new JobWatch(builder.start().getOutputStream());
    }

    /** @param rank the first process of a group, or else one without a group of its own */
    public void addRank(Process rank) {
        say("process -" + rank.pid());
    }

    /** @param signal its name, such as USR1, which mpirun hands on to the ranks */
    public void send(String signal) {
        say("signal " + signal);
    }

    /** The job is over: the shell ends and does nothing. */
    @Override
    public void close() {
        say("over");
        try {
            pipe.close();
        } catch (IOException e) {
            return; // somebody has killed the shell, and what was to be said to it is still in the pipe
        }
    }

    private void say(String words) {
        try {
            pipe.write((words + "\n").getBytes(StandardCharsets.UTF_8));
            pipe.flush();
        } catch (IOException e) {
            return; // somebody has killed the shell
        }
    }
}
