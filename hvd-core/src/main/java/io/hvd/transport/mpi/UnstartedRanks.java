package io.hvd.transport.mpi;

import io.hvd.config.LauncherFacts;
import io.hvd.log.HvdLogger;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Names the ranks for which the others wait in MPI_Init, which has no limit and says nothing. A process has called {@code
 * Hvd.init()} if it has the thread that calls MPI, and Linux shows the names of the threads of all processes of one user; it is
 * looked for in the processes of this host that the same launcher has started. Elsewhere nothing is said.
 */
final class UnstartedRanks implements AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(UnstartedRanks.class);
    private static final Path PROCESSES = Path.of("/proc");

    private final CountDownLatch started = new CountDownLatch(1);

    /** A process that a launcher has started as a rank. @param called whether it has called {@code Hvd.init()} */
    record Found(int rank, long process, boolean called) {}

    /** Says it once, if {@link #close} does not come first. @param limit how long MPI_Init may take */
    static UnstartedRanks watch(Duration limit) {
        UnstartedRanks watch = new UnstartedRanks();
        Thread thread = new Thread(() -> watch.await(limit), "hvd-late-ranks");
        thread.setDaemon(true);
        thread.start();
        return watch;
    }

    private void await(Duration limit) {
        try {
            if (!started.await(limit.toNanos(), TimeUnit.NANOSECONDS)) {
                LauncherFacts.rank(System.getenv())
                        .ifPresent(own -> sentence(own, onThisHost(), limit).ifPresent(LOG::warn));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // nobody interrupts it; then it ends
        }
    }

    /** MPI has started. */
    @Override
    public void close() {
        started.countDown();
    }

    /** For the least of the waiting ranks of this host; empty on the others, and where nothing is known. */
    static Optional<String> sentence(int own, List<Found> all, Duration limit) {
        Map<Integer, List<Found>> ranks = all.stream().collect(Collectors.groupingBy(Found::rank));
        List<Integer> waiting = ranks.keySet().stream()
                .filter(rank -> ranks.get(rank).stream().anyMatch(Found::called))
                .sorted()
                .toList();
        if (waiting.isEmpty() || waiting.get(0) != own) {
            return Optional.empty();
        }
        String begin = "rank " + own + " has waited for " + limit.toSeconds()
                + " s (HOROVOD_START_TIMEOUT) in MPI_Init," + " which ends when all ranks have called Hvd.init(); ";
        if (waiting.size() == ranks.size()) {
            return Optional.of(begin + "all " + ranks.size()
                    + " ranks of this host have, so MPI waits for another host, or" + " cannot connect them");
        }
        return Optional.of(begin + "on this host these have not: " + late(ranks));
    }

    /** Where a shell runs a rank's program, the program's process is the later one. */
    private static String late(Map<Integer, List<Found>> ranks) {
        return ranks.values().stream()
                .filter(processes -> processes.stream().noneMatch(Found::called))
                .map(processes -> processes.get(processes.size() - 1))
                .sorted(Comparator.comparingInt(Found::rank))
                .map(late -> "rank " + late.rank() + " (process " + late.process() + ")")
                .collect(Collectors.joining(", "));
    }

    private static List<Found> onThisHost() {
        return launcher().stream()
                .flatMap(ProcessHandle::descendants)
                .map(ProcessHandle::pid)
                .flatMap(
                        process -> rank(process).stream().mapToObj(rank -> new Found(rank, process, callsMpi(process))))
                .sorted(Comparator.comparingLong(Found::process))
                .toList();
    }

    /** The nearest process above this one that is not a rank, as a shell between them is. */
    private static Optional<ProcessHandle> launcher() {
        Optional<ProcessHandle> above = ProcessHandle.current().parent();
        while (above.isPresent() && rank(above.get().pid()).isPresent()) {
            above = above.get().parent();
        }
        return above;
    }

    private static OptionalInt rank(long process) {
        try {
            Map<String, String> variables = new HashMap<>();
            for (String variable : Files.readString(file(process, "environ")).split("\0")) {
                String[] parts = variable.split("=", 2);
                if (parts.length == 2) {
                    variables.put(parts[0], parts[1]);
                }
            }
            return LauncherFacts.rank(variables);
        } catch (IOException e) {
            return OptionalInt.empty(); // another user's, or gone, or variables that are no text
        }
    }

    private static boolean callsMpi(long process) {
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(file(process, "task"))) {
            for (Path thread : threads) {
                if (Files.readString(thread.resolve("comm")).strip().equals(MpiProcess.THREAD)) {
                    return true;
                }
            }
            return false;
        } catch (IOException e) {
            return true; // it is ending, so nothing is said of it
        }
    }

    private static Path file(long process, String name) {
        return PROCESSES.resolve(Long.toString(process)).resolve(name);
    }
}
