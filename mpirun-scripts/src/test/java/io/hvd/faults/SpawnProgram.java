package io.hvd.faults;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/** Ranks that are threads of several processes, in the ways that {@link SpawnIT} looks at. */
public final class SpawnProgram {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();
    private static final int THREADS = 2;
    private static final int ROUNDS = 200;

    private SpawnProgram() {}

    public static void main(String[] args) {
        switch (args[0]) {
            case "places" -> Hvd.spawn(THREADS, SpawnProgram::tellPlace);
            case "again" -> {
                Hvd.spawn(THREADS, SpawnProgram::tellPlace);
                Hvd.spawn(THREADS, SpawnProgram::tellPlace);
            }
            case "unlike" -> Hvd.spawn(THREADS + process(), hvd -> null);
            case "throws" -> Hvd.spawn(THREADS, hvd -> trainUntilRankThrows(hvd, 3));
            case "throws-at-work" -> Hvd.spawn(THREADS, SpawnProgram::throwBesideBusyRanks);
            case "exits" -> Hvd.spawn(THREADS, hvd -> trainUntilExit(hvd, 1));
            case "crossing" -> Hvd.spawn(THREADS, SpawnProgram::meetInCrossingSets);
            case "inside-init" -> {
                try (HvdContext hvd = Hvd.init()) {
                    Hvd.spawn(THREADS, inner -> null);
                }
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static int process() {
        return Integer.parseInt(System.getenv("OMPI_COMM_WORLD_RANK"));
    }

    private static Object tellPlace(HvdContext hvd) {
        float sum = hvd.allreduce("sum", Tensor.of((float) hvd.rank()), SUM).item();
        // One call for the line: other threads print theirs.
        System.out.println(String.format(
                Locale.ROOT,
                "PLACE process=%d rank=%d size=%d local=%d/%d cross=%d/%d sum=%.0f",
                process(),
                hvd.rank(),
                hvd.size(),
                hvd.localRank(),
                hvd.localSize(),
                hvd.crossRank(),
                hvd.crossSize(),
                sum));
        return null;
    }

    private static Object trainUntilRankThrows(HvdContext hvd, int culprit) {
        for (int step = 0; step < ROUNDS; step++) {
            if (hvd.rank() == culprit && step == ROUNDS / 2) {
                throw new IllegalStateException("shard " + culprit + " is empty");
            }
            // Always another name, so that the ranks wait where they can be told why, and not inside MPI.
            hvd.allreduce("gradient." + step, Tensor.of(1f), SUM);
        }
        return null;
    }

    /** The others submit nothing more, so that only the monitor and the control plane can tell them. */
    private static Object throwBesideBusyRanks(HvdContext hvd) throws InterruptedException {
        hvd.barrier();
        if (hvd.rank() == 0) {
            throw new IllegalStateException("shard 0 is empty");
        }
        Thread.currentThread().join();
        return null;
    }

    private static Object trainUntilExit(HvdContext hvd, int culprit) {
        hvd.barrier();
        if (hvd.rank() == culprit) {
            System.exit(7);
        }
        hvd.allreduce("never", Tensor.of(1f), SUM);
        return null;
    }

    /**
     * Sets that lie across each other over both processes, each with a thread of its own that makes its calls, and
     * transfers between pairs of ranks: whatever order they come in, none must keep another from going on.
     */
    private static Object meetInCrossingSets(HvdContext hvd) throws InterruptedException {
        List<List<Integer>> members =
                List.of(List.of(0, 2), List.of(1, 3), List.of(0, 1, 2), List.of(1, 2, 3), List.of(0, 3));
        List<ProcessSet> sets = members.stream().map(hvd::addProcessSet).toList();
        List<Thread> threads = sets.stream()
                .filter(ProcessSet::included)
                .map(set -> new Thread(() -> sumOften(set)))
                .toList();
        threads.forEach(Thread::start);
        int partner = (hvd.rank() + THREADS) % hvd.size();
        float[] large = new float[100_000];
        for (int round = 0; round < ROUNDS / 10; round++) {
            large[0] = hvd.rank() + round;
            if (hvd.rank() < partner) {
                hvd.send(Tensor.of(large), partner, 0);
            } else {
                float first = hvd.receive(Tensor.of(new float[large.length]), partner, 0)
                        .toFloatArray()[0];
                require(first == partner + round, "rank " + hvd.rank() + " got " + first);
            }
            require(hvd.allreduce("all", Tensor.of(1f), SUM).item() == hvd.size(), "sum of all");
        }
        for (Thread thread : threads) {
            thread.join();
        }
        hvd.barrier();
        System.out.println("CROSSED " + hvd.rank());
        return null;
    }

    private static void sumOften(ProcessSet set) {
        float expected = set.ranks().stream().mapToInt(Integer::intValue).sum();
        int self = set.ranks().get(set.rank());
        for (int round = 0; round < ROUNDS; round++) {
            float[] mine = new float[1 + round * 7];
            IntStream.range(0, mine.length).forEach(i -> mine[i] = self);
            float[] sum = set.allreduce("s" + set.id(), Tensor.of(mine), SUM).toFloatArray();
            for (float element : sum) {
                require(element == expected, "set " + set.ranks() + " got " + element);
            }
        }
    }

    private static void require(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }
}
