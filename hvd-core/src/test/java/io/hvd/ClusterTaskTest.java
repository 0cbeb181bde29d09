package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Ranks that a scheduler has started as tasks, several of them on the threads of one pool, as in an executor of Spark's. */
@Timeout(60)
class ClusterTaskTest {
    private static final InitOptions STANDARD = InitOptions.standard();

    /** Tasks of one job. */
    private static final class Scheduler {
        private final String[] words;
        private final CyclicBarrier all;
        private volatile String cancelled = "";

        Scheduler(int size) {
            words = new String[size];
            all = new CyclicBarrier(size);
        }

        ClusterTask task(int rank, List<Integer> gpus) {
            return new ClusterTask() {
                @Override
                public int rank() {
                    return rank;
                }

                @Override
                public int size() {
                    return words.length;
                }

                @Override
                public byte[] secret() {
                    return new byte[] {1, 2, 3};
                }

                @Override
                public List<String> exchange(String mine) throws Exception {
                    words[rank] = mine;
                    all.await(20, TimeUnit.SECONDS);
                    return Arrays.asList(words.clone());
                }

                @Override
                public List<Integer> gpus() {
                    return gpus;
                }

                @Override
                public Optional<String> cancelled() {
                    return Optional.of(cancelled).filter(why -> !why.isEmpty());
                }
            };
        }

        /** What became of each rank. */
        <R> List<Future<R>> run(RankBody<R> body) throws InterruptedException {
            ExecutorService pool = Executors.newFixedThreadPool(words.length);
            List<Callable<R>> tasks = new ArrayList<>();
            for (int rank = 0; rank < words.length; rank++) {
                ClusterTask task = task(rank, List.of());
                tasks.add(() -> Hvd.runTask(task, STANDARD, body));
            }
            try {
                return pool.invokeAll(tasks);
            } finally {
                pool.shutdown();
            }
        }
    }

    private static <R> List<R> results(List<Future<R>> ends) throws Exception {
        List<R> results = new ArrayList<>();
        for (Future<R> end : ends) {
            results.add(end.get());
        }
        return results;
    }

    private static float sum(HvdContext hvd) {
        return ((float[]) hvd.allreduce("x", Tensor.of(new float[] {hvd.rank() + 1}), AllreduceOptions.of(ReduceOp.SUM))
                        .toArray())
                [0];
    }

    @Test
    void ranksOfOneProcessHaveContextsOfTheirOwnToWhichTheirThreadsAreBound() throws Exception {
        List<String> results = results(new Scheduler(3)
                .run(hvd -> hvd.rank() + "/" + Hvd.rank() + " of " + Hvd.size() + ", local " + hvd.localRank() + " of "
                        + hvd.localSize() + ": " + sum(hvd)));

        assertThat(results)
                .containsExactly(
                        "0/0 of 3, local 0 of 3: 6.0", "1/1 of 3, local 1 of 3: 6.0", "2/2 of 3, local 2 of 3: 6.0");
        assertThat(Hvd.isInitialized()).isFalse();
    }

    @Test
    void ranksOfAHostShareMemoryAlsoInOneProcess() throws Exception {
        assertThat(results(new Scheduler(2).run(HvdContext::backend)))
                .allSatisfy(words -> assertThat(words).contains("shared memory", "tcp (127.0.0.1"));
    }

    @Test
    void jobsOfOneProcessRunSideBySide() throws Exception {
        CyclicBarrier both = new CyclicBarrier(4);
        ExecutorService jobs = Executors.newFixedThreadPool(2);
        RankBody<Float> body = hvd -> {
            both.await(30, TimeUnit.SECONDS);
            return sum(hvd);
        };
        try {
            for (Future<List<Future<Float>>> job : jobs.invokeAll(List.<Callable<List<Future<Float>>>>of(
                    () -> new Scheduler(2).run(body), () -> new Scheduler(2).run(body)))) {
                assertThat(results(job.get())).containsExactly(3f, 3f);
            }
        } finally {
            jobs.shutdown();
        }
    }

    @Test
    void aBodyThatThrowsEndsWhatTheOthersWaitForAndTheProcessRunsTheNextJob() throws Exception {
        List<Future<Float>> ends = new Scheduler(2).run(hvd -> {
            if (hvd.rank() == 1) {
                throw new IllegalStateException("a bad row");
            }
            return sum(hvd);
        });

        assertThatThrownBy(ends.get(1)::get)
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("a bad row");
        assertThatThrownBy(ends.get(0)::get).cause().isInstanceOf(ShutdownException.class);
        assertThat(results(new Scheduler(2).run(ClusterTaskTest::sum))).containsExactly(3f, 3f);
    }

    /** An executor may run thousands of jobs. */
    @Test
    void neitherAJobThatEndsNorOneThatFailsLeavesThreadsBehind() throws Exception {
        Set<Thread> before = hvdsThreads();

        results(new Scheduler(2).run(ClusterTaskTest::sum));
        new Scheduler(2).run(hvd -> {
            if (hvd.rank() == 0) {
                throw new IllegalStateException("rank 0 fails");
            }
            return sum(hvd);
        });

        Set<Thread> left = hvdsThreads();
        for (Thread thread : left) {
            if (!before.contains(thread)) {
                thread.join(5_000);
            }
        }
        left = hvdsThreads();
        left.removeAll(before);
        assertThat(left).isEmpty();
    }

    private static Set<Thread> hvdsThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("hvd-"))
                .collect(Collectors.toSet());
    }

    @Test
    void whatACancelledRankWaitsForEnds() throws Exception {
        Scheduler scheduler = new Scheduler(2);

        List<Future<Float>> ends = scheduler.run(hvd -> {
            if (hvd.rank() == 1) {
                scheduler.cancelled = "the user has had enough";
                assertThatThrownBy(() -> hvd.allreduce("of nobody else", Tensor.of(1f)))
                        .isInstanceOf(ShutdownException.class);
                throw new IllegalStateException("a rank that has noticed");
            }
            return sum(hvd);
        });

        assertThatThrownBy(ends.get(0)::get)
                .cause()
                .isInstanceOf(ShutdownException.class)
                .hasMessageContaining("the user has had enough");
        assertThatThrownBy(ends.get(1)::get).cause().hasMessage("a rank that has noticed");
    }

    @Test
    void aRankThatIsCancelledWhileItJoinsSaysSo() throws Exception {
        Scheduler scheduler = new Scheduler(2);
        scheduler.words[1] = "";
        ClusterTask alone = scheduler.task(0, List.of());
        ClusterTask first = new ClusterTask() {
            @Override
            public int rank() {
                return 0;
            }

            @Override
            public int size() {
                return 2;
            }

            @Override
            public byte[] secret() {
                return alone.secret();
            }

            @Override
            public List<String> exchange(String mine) {
                return List.of(mine, mine);
            }

            @Override
            public Optional<String> cancelled() {
                return Optional.of("rank 1 has failed");
            }
        };

        assertThatThrownBy(() -> Hvd.runTask(first, STANDARD, hvd -> 0))
                .isInstanceOf(ShutdownException.class)
                .hasMessageContaining("the scheduler has cancelled the task of rank 0: rank 1 has failed");
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void aRankThatIsAloneNeedsNobody() throws Exception {
        assertThat(results(new Scheduler(1).run(hvd -> hvd.backend() + " " + sum(hvd))))
                .containsExactly("local (one rank) 1.0");
    }

    @Test
    void aGpuThatTheProcessDoesNotSeeIsNamed() {
        ClusterTask task = new Scheduler(1).task(0, List.of(7));

        assertThatThrownBy(() -> Hvd.runTask(task, STANDARD, hvd -> 0))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("the scheduler has given GPUs [7] to rank 0")
                .hasMessageContaining("sees none");
    }

    @Test
    void settingsThatAskForMpiAreRefused() {
        ClusterTask task = new Scheduler(1).task(0, List.of());
        InitOptions options = STANDARD.withSettings(Map.of("HVD_BACKEND", "mpi"));

        assertThatThrownBy(() -> Hvd.runTask(task, options, hvd -> 0))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_SETTING))
                .hasMessageContaining("expected auto, tcp or nccl");
    }
}
