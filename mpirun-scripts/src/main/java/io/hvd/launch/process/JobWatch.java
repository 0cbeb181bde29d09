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
import java.util.Set;

/**
 * A shell beside mpirun that outlives the launcher: whoever kills the launcher closes the pipe between them, and the
 * shell ends mpirun, what is left of its ranks on this machine, and the folder of their records. While the launcher
 * lives, the shell sends mpirun the signals that it is told to.
 */
final class JobWatch implements Closeable {

    private static final String OVER = "over";

    /**
     * Its words are mpirun's process and the folder. A process of the job is told by the folder in its environment: one
     * that has ended has none, nor has a stranger with the same number. mpirun has ten seconds to end, as under
     * {@link MpiJob#end}. What is left is looked for until nothing is found: whoever is killed may just have begun a child.
     */
    private static final String SCRIPT = String.format(Locale.ROOT, """
            trap '' HUP INT QUIT TERM USR1 USR2
            mpirun=$1 folder=$2
            of_job() { grep -qszFx "%s=$folder" "/proc/$1/environ"; }
            while read -r word; do
                [ "$word" != %s ] || exit 0
                of_job "$mpirun" && kill -s "$word" "$mpirun"
            done
            of_job "$mpirun" && kill "$mpirun"
            left=100
            while of_job "$mpirun" && [ $left -gt 0 ]; do sleep 0.1; left=$((left - 1)); done
            found=yes looks=10
            while [ $found = yes ] && [ $looks -gt 0 ]; do
                found=no looks=$((looks - 1))
                for process in /proc/[0-9]*; do
                    of_job "${process#/proc/}" && kill -9 "${process#/proc/}" && found=yes
                done
            done
            rm -f -- "$folder"/*
            rmdir -- "$folder"
            """, FailureRecord.DIRECTORY_VARIABLE, OVER);

    private final OutputStream pipe;

    private JobWatch(OutputStream pipe) {
        this.pipe = pipe;
    }

    /** @param environment says where programs are; the shell itself gets nothing else of it */
    static JobWatch over(Process mpirun, Path folder, Map<String, String> environment) throws IOException {
        List<String> words = new ArrayList<>(
                List.of("sh", "-c", SCRIPT, "hvd-watch", Long.toString(mpirun.pid()), folder.toString()));
        MpiInstall.onPath("setsid", environment).ifPresent(setsid -> words.add(0, setsid.toString()));
        var builder = new ProcessBuilder(words)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().keySet().retainAll(Set.of("PATH"));
        return new JobWatch(builder.start().getOutputStream());
    }

    /** @param signal its name, such as USR1, which mpirun hands on to the ranks */
    void send(String signal) {
        say(signal);
    }

    /** The job is over: the shell ends and does nothing. */
    @Override
    public void close() {
        say(OVER);
        try {
            pipe.close();
        } catch (IOException e) {
            return; // somebody has killed the shell, and what was to be said to it is still in the pipe
        }
    }

    private void say(String word) {
        try {
            pipe.write((word + "\n").getBytes(StandardCharsets.UTF_8));
            pipe.flush();
        } catch (IOException e) {
            return; // somebody has killed the shell
        }
    }
}
