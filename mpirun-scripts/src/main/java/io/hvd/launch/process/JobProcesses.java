package io.hvd.launch.process;

import io.hvd.error.FailureRecord;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The processes of one job on this machine. Where their parent has ended, they are told from others by the folder of
 * failure records that the job alone has in its environment.
 */
public final class JobProcesses {

    private static final long LOOK_MILLIS = 5;

    /** On a busy machine a process may be interrupted while it begins to execute a program. */
    private static final long EXECUTION_NANOS = 200_000_000L;

    /** A program may execute another one between two looks. */
    private static final int CALM_LOOKS = 4;

    private JobProcesses() {}

    public static List<ProcessHandle> living(Path folder) {
        String variable = "\0" + FailureRecord.DIRECTORY_VARIABLE + "=" + folder + "\0";
        return ProcessHandle.allProcesses()
                .filter(process -> environment(process.pid()).contains(variable))
                .toList();
    }

    /**
     * Waits for all of them; false if one lives on. {@link ProcessHandle#onExit} looks for processes that are no children of
     * this one three times a second only.
     */
    public static boolean endedWithin(List<ProcessHandle> processes, long millis) throws InterruptedException {
        long begun = System.nanoTime();
        while (processes.stream().anyMatch(ProcessHandle::isAlive)) {
            if (System.nanoTime() - begun >= TimeUnit.MILLISECONDS.toNanos(millis)) {
                return false;
            }
            TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
        }
        return true;
    }

    /**
     * Empty for a process that has ended, or belongs to somebody else, or has an empty one. One that is just executing a
     * program shows neither its words nor its environment, or only the beginning of what it was before, and is looked at
     * until it does; a thread of the kernel, which never does, has no program.
     */
    private static String environment(long pid) {
        Path process = Path.of("/proc", Long.toString(pid));
        try {
            String environment = content(process.resolve("environ"));
            long begun = System.nanoTime();
            int calm = 0;
            while (!environment.endsWith("\0")
                    && Files.exists(process.resolve("exe"))
                    && calm < CALM_LOOKS
                    && System.nanoTime() - begun < EXECUTION_NANOS) {
                Thread.yield();
                calm = content(process.resolve("cmdline")).isEmpty() ? 0 : calm + 1;
                environment = content(process.resolve("environ"));
            }
            return "\0" + environment + "\0";
        } catch (IOException e) {
            return "";
        }
    }

    private static String content(Path file) throws IOException {
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    }
}
