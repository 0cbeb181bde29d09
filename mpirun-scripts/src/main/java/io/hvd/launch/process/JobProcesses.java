package io.hvd.launch.process;

import io.hvd.error.FailureRecord;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The processes of one job on this machine. Where their parent has ended, they are told from others by the folder of
 * failure records that the job alone has in its environment.
 */
public final class JobProcesses {

    private JobProcesses() {}

    public static List<ProcessHandle> living(Path folder) {
        String variable = "\0" + FailureRecord.DIRECTORY_VARIABLE + "=" + folder + "\0";
        return ProcessHandle.allProcesses()
                .filter(process -> environment(process.pid()).contains(variable))
                .toList();
    }

    /** Waits for all of them; false if one lives on. */
    public static boolean endedWithin(List<ProcessHandle> processes, long millis) throws InterruptedException {
        CompletableFuture<?>[] ends =
                processes.stream().map(ProcessHandle::onExit).toArray(CompletableFuture[]::new);
        try {
            CompletableFuture.allOf(ends).get(millis, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e); // the end of a process is no computation that could fail
        }
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
