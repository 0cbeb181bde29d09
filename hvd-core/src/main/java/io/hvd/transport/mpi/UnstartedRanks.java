package io.hvd.transport.mpi;

import io.hvd.config.LauncherFacts;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Ends the wait in MPI_Init, which has no limit of its own and says nothing, and names the ranks for which it waits. A process
 * has called {@code Hvd.init()} if it has the thread that calls MPI, and Linux shows the names of the threads of all
 * processes of one user; it is looked for in the processes of this host that the same launcher has started.
 */
final class UnstartedRanks {
    private static final Path PROCESSES = Path.of("/proc");

    private final CompletableFuture<Object> stuck;
    private final CountDownLatch returned = new CountDownLatch(1);
    private final AtomicBoolean over = new AtomicBoolean();

    /** A process that a launcher has started as a rank. @param called whether it has called {@code Hvd.init()} */
    record Found(int rank, long process, boolean called) {}

    /** @param stuck is completed with an {@link HvdException} if the wait is too long */
    private UnstartedRanks(CompletableFuture<Object> stuck) {
        this.stuck = stuck;
    }

    /**
     * Runs MPI_Init. If it takes too long, those who wait for {@code stuck} hear why, and this thread stays in it.
     *
     * @throws HvdException if MPI_Init returns after they have been told
     */
    static <T> T limit(Supplier<T> init, Duration limit, CompletableFuture<Object> stuck) {
        UnstartedRanks watch = new UnstartedRanks(stuck);
        Thread thread = new Thread(() -> watch.await(limit), "hvd-late-ranks");
        thread.setDaemon(true);
        thread.start();
        try {
            T result = init.get();
            if (!watch.over.compareAndSet(false, true)) {
                throw new HvdException(ErrorId.INIT_FAILED, "MPI_Init has returned after HOROVOD_START_TIMEOUT");
            }
            return result;
        } finally {
            watch.returned.countDown();
        }
    }

    private void await(Duration limit) {
        try {
            if (!returned.await(limit.toNanos(), TimeUnit.NANOSECONDS) && over.compareAndSet(false, true)) {
                stuck.completeExceptionally(new HvdException(
                        ErrorId.INIT_FAILED, sentence(LauncherFacts.rank(System.getenv()), onThisHost(), limit)));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // nobody interrupts it; then it ends
        }
    }

    static String sentence(OptionalInt own, List<Found> all, Duration limit) {
        String begin = (own.isPresent() ? "rank " + own.getAsInt() : "this process") + " has waited for "
                + limit.toSeconds() + " s (HOROVOD_START_TIMEOUT) in MPI_Init,"
                + " which ends when all ranks have called Hvd.init(); ";
        Map<Integer, List<Found>> ranks = all.stream().collect(Collectors.groupingBy(Found::rank));
        String late = late(ranks);
        if (!late.isEmpty()) {
            return begin + "on this host these have not: " + late;
        }
        return begin
                + (ranks.isEmpty()
                        ? "the processes of this host cannot be read here, so who is missing is not known"
                        : "all " + ranks.size() + " ranks of this host have, so MPI waits for another host, or"
                                + " cannot connect them");
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
