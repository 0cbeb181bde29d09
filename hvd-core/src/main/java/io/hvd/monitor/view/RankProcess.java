package io.hvd.monitor.view;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A rank's process.
 *
 * @param startTicks when the kernel started it, which tells it from a later process of the same number; 0 if it cannot tell
 * @param machine equal for ranks that see each other's process numbers
 */
public record RankProcess(int rank, String host, long pid, long startTicks, String machine) {

    /** This process, as the given rank. */
    public static RankProcess ofThisProcess(int rank, String host) {
        return of(rank, host, ProcessHandle.current().pid());
    }

    public static RankProcess of(int rank, String host, long pid) {
        long startTicks = ProcessStat.read(pid).map(ProcessStat::startTicks).orElse(0L);
        return new RankProcess(rank, host, pid, startTicks, machine(host));
    }

    /**
     * Whether each rank can look at the other's process; a system without {@code /proc} shows no process to another
     * one.
     */
    public boolean isVisibleTo(RankProcess other) {
        return machine.equals(other.machine) && startTicks != 0 && other.startTicks != 0;
    }

    /**
     * The identity of the machine: a container may have a name space of its own for processes, or only a name and a
     * network of its own.
     */
    private static String machine(String host) {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip() + " "
                    + Files.readSymbolicLink(Path.of("/proc/self/ns/pid")) + " " + host;
        } catch (IOException | UnsupportedOperationException e) {
            return host;
        }
    }
}
