package io.hvd.job;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Joins and leaves a job again and again in one JVM, and counts what a few lives leave behind, and then many more. Its
 * first argument says how it lives: {@code close}, {@code shutdown}, which keeps MPI, {@code spawn}, or {@code cancelled}; the second one how many
 * lives follow the first few.
 */
public final class ManyLivesProgram {
    private static final int FIRST_LIVES = 5;
    private static final long SETTLE_NANOS = 20_000_000_000L;
    private static final long LOOK_NANOS = 10_000_000;

    private ManyLivesProgram() {}

    /** What a process has, without the threads of the JVM itself that come and go with its load. */
    private record Holdings(Set<String> threads, List<String> descriptors, Set<String> files) {
        static Holdings now() throws IOException {
            return new Holdings(threadsNow(), links(Path.of("/proc/self/fd")), filesNow());
        }

        private static Set<String> threadsNow() {
            return Thread.getAllStackTraces().keySet().stream()
                    .map(thread -> thread.getId() + " " + thread.getName())
                    .collect(Collectors.toCollection(TreeSet::new));
        }

        private static List<String> links(Path folder) throws IOException {
            try (Stream<Path> all = Files.list(folder)) {
                return all.map(Holdings::target).sorted().toList();
            }
        }

        private static String target(Path link) {
            try {
                return Files.readSymbolicLink(link).toString().replaceAll("\\d+", "N");
            } catch (IOException e) {
                return "gone"; // the descriptor with which the folder is read
            }
        }

        /** The temporary folder is this process's own. */
        private static Set<String> filesNow() throws IOException {
            try (Stream<Path> all = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
                return all.map(file -> file.getFileName().toString())
                        .filter(name -> !name.startsWith("hsperfdata"))
                        .collect(Collectors.toCollection(TreeSet::new));
            }
        }

        /** Threads end by themselves after the call that tells them to. */
        boolean isNoMoreThan(Holdings before) {
            return before.threads.containsAll(threads)
                    && descriptors.size() <= before.descriptors.size()
                    && before.files.containsAll(files);
        }
    }

    public static void main(String[] args) throws Exception {
        live(args[0], FIRST_LIVES);
        LockSupport.parkNanos(SETTLE_NANOS / 20);
        Holdings before = Holdings.now();
        live(args[0], Integer.parseInt(args[1]));
        Holdings after = Holdings.now();
        long end = System.nanoTime() + SETTLE_NANOS;
        while (!after.isNoMoreThan(before) && System.nanoTime() < end) {
            LockSupport.parkNanos(LOOK_NANOS);
            after = Holdings.now();
        }
        // A mapping outlives its segment's file until the memory is collected.
        while (segments("") > 1 && System.nanoTime() < end) {
            System.gc();
            LockSupport.parkNanos(LOOK_NANOS);
        }
        long undeleted = segments(".shm");
        long mapped = segments("");
        if (after.isNoMoreThan(before) && undeleted == 0 && mapped <= 1) {
            System.out.println("LEFT NOTHING " + before.threads().size() + " threads "
                    + before.descriptors().size() + " descriptors");
        } else {
            Set<String> threads = new TreeSet<>(after.threads());
            threads.removeAll(before.threads());
            System.out.println("LEFT " + threads + ", " + undeleted + " files of segments, " + mapped
                    + " mapped segments; files " + after.files() + "; descriptors before " + before.descriptors()
                    + " and after " + after.descriptors());
        }
    }

    /** This process's mapped segments of shared memory. @param end of the line; "(deleted)" follows a deleted file */
    private static long segments(String end) throws IOException {
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return maps.filter(line -> line.contains("/hvd-") && line.contains(".shm") && line.endsWith(end))
                    .count();
        }
    }

    private static void live(String how, int lives) {
        InitOptions options = InitOptions.standard().withDynamicProcessSets();
        for (int life = 0; life < lives; life++) {
            switch (how) {
                case "close" -> {
                    try (HvdContext hvd = Hvd.init(options)) {
                        work(hvd);
                    }
                }
                case "shutdown" -> {
                    work(Hvd.init(options));
                    Hvd.shutdown();
                }
                case "spawn" ->
                    Hvd.spawn(2, options, hvd -> {
                        work(hvd);
                        return null;
                    });
                case "cancelled" -> cancelled(options);
                default -> throw new IllegalArgumentException(how);
            }
        }
    }

    /** A job whose caller is interrupted in the middle of it. */
    private static void cancelled(InitOptions options) {
        Thread caller = Thread.currentThread();
        try {
            Hvd.spawn(2, options, hvd -> {
                work(hvd);
                if (hvd.rank() == 0) {
                    caller.interrupt();
                }
                hvd.allreduceInPlace(hvd.rank() == 0 ? "never" : "nowhere", Tensor.of(1f), AllreduceOptions.sum());
                return null;
            });
            throw new IllegalStateException("the job was not cancelled");
        } catch (HvdException e) {
            if (!Thread.interrupted() || !e.getMessage().contains("cancelled")) {
                throw e;
            }
        }
    }

    /** Everything that makes threads, memory or files of its own; one result is never read. */
    private static void work(HvdContext hvd) {
        hvd.allreduce("unread", Tensor.of(1f));
        Tensor large = Tensor.zeros(DType.FLOAT32, Shape.of(100_000));
        for (int step = 0; step < 12; step++) {
            hvd.allreduceInPlace("large", large, AllreduceOptions.sum());
        }
        if (hvd.size() > 1) {
            hvd.addProcessSet(List.of(0)).ranks();
        }
        hvd.barrier();
    }
}
