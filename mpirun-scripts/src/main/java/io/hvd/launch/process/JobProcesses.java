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

    /** Empty for a process that has ended, or belongs to somebody else. */
    private static String environment(long pid) {
        try {
            Path file = Path.of("/proc", Long.toString(pid), "environ");
            return "\0" + new String(Files.readAllBytes(file), StandardCharsets.UTF_8) + "\0";
        } catch (IOException e) {
            return "";
        }
    }
}
