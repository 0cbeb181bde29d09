package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.LocalRanks;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.ElasticSampler;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.Tensor;
import io.hvd.train.Callback;
import io.hvd.train.Checkpoint;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A training of 8 batches per epoch that is cancelled, or gets SIGTERM, on one of its ranks. */
@Timeout(60)
class CancelTest {
    private static final int BATCHES = 8;
    private static final int EPOCHS = 3;
    private static final long LIMIT_SECONDS = 30;

    @TempDir
    Path folder;

    /** Where a program may spend its time without a step. */
    private enum Moment {
        EVALUATION,
        BEFORE_THE_CHECKPOINT,
        AFTER_THE_CHECKPOINT,
        BEGIN_OF_EPOCH,
        FIRST_BATCH,
        LATER_BATCH
    }

    private enum How {
        CANCEL,
        SIGTERM
    }

    /** One rank's training, with what a test may do at each place. */
    private final class Rank {
        final HvdContext hvd;
        final float[] weight = {0};
        final CountDownLatch written = new CountDownLatch(1);
        AutoResume autoResume;
        Training training;

        Consumer<Moment> at = place -> {};
        Consumer<Training> inStep = now -> {};

        Rank(HvdContext hvd) {
            this.hvd = hvd;
        }

        Training train() throws Exception {
            float[] gradient = {0};
            var optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", weight, gradient), 1))
                    .build();
            optimizer.broadcastParameters(0);
            int samples = BATCHES * hvd.size();
            var sampler = ElasticSampler.builder(samples, hvd.size(), hvd.rank())
                    .shuffle(false)
                    .build();
            Dataset<Integer> numbers = new Dataset<>() {
                @Override
                public int size() {
                    return samples;
                }

                @Override
                public Integer get(int index) {
                    if (training != null && training.epoch() == 1 && index / hvd.size() < 5) {
                        at.accept(index < hvd.size() ? Moment.FIRST_BATCH : Moment.LATER_BATCH);
                    }
                    return index;
                }
            };
            try (var loader = DataLoader.<Integer, List<Integer>>builder(numbers, sampler, List::copyOf)
                            .build();
                    var checkpoints = Checkpoints.in(folder, hvd, optimizer)
                            .with("sampler", sampler)
                            .output(this::write)
                            .build()) {
                autoResume = AutoResume.everySteps(1_000, checkpoints, sampler);
                return TrainingLoop.of(hvd, optimizer)
                        .with(autoResume)
                        .with(callback(Callback.Place.DECISION, Moment.BEFORE_THE_CHECKPOINT))
                        .with(callback(Callback.Place.PROGRAM, Moment.AFTER_THE_CHECKPOINT))
                        .evaluation(now -> at.accept(Moment.EVALUATION))
                        .run(EPOCHS, loader, (batch, now) -> {
                            optimizer.zeroGradients();
                            gradient[0] = -1;
                            optimizer.step();
                            inStep.accept(now);
                        });
            }
        }

        private void write(Checkpoint checkpoint, Path file) throws IOException {
            checkpoint.write(file);
            written.countDown();
        }

        private Callback callback(Callback.Place where, Moment place) {
            return new Callback() {
                @Override
                public Callback.Place place() {
                    return where;
                }

                @Override
                public void trainingBegins(Training begun) {
                    training = begun;
                }

                @Override
                public void epochBegins(Training now) {
                    if (now.epoch() == 1 && where == Callback.Place.PROGRAM) {
                        at.accept(Moment.BEGIN_OF_EPOCH);
                    }
                }

                @Override
                public void epochEnds(Training now) {
                    at.accept(place);
                }
            };
        }

        void end(How how) {
            if (how == How.CANCEL) {
                training.cancel("the service shuts down");
            } else {
                autoResume.signal().raise(); // threads share the process's own
            }
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(LIMIT_SECONDS, TimeUnit.SECONDS))
                    .as("written while the program is busy")
                    .isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    private List<Training> resume(int ranks) {
        return Hvd.spawn(ranks, hvd -> new Rank(hvd).train());
    }

    @ParameterizedTest
    @CsvSource({"1,CANCEL", "1,SIGTERM", "3,CANCEL", "3,SIGTERM"})
    void inAStepAllRanksEndAfterTheNextOneWithACheckpointAndTheReason(int ranks, How how) throws IOException {
        List<Training> ends = Hvd.spawn(ranks, hvd -> {
            Rank rank = new Rank(hvd);
            rank.inStep = now -> {
                if (hvd.rank() == hvd.size() - 1 && now.steps() + 1 == 10) {
                    rank.end(how);
                }
            };
            Training end = rank.train();
            assertThat(rank.autoResume.wasTerminated()).isEqualTo(how == How.SIGTERM);
            return end;
        });
        long last = ranks == 1 ? 10 : 11;
        assertThat(ends).allSatisfy(end -> {
            assertThat(end.isCancelled()).isTrue();
            assertThat(end.isLeaving()).isTrue();
            assertThat(end.steps()).isEqualTo(last);
            assertThat(end.cancelReasons()).containsOnlyKeys(ranks - 1);
            assertThat(end.stopReason())
                    .contains("step " + last, "rank " + (ranks - 1), how == How.CANCEL ? "the service" : "SIGTERM");
        });
        assertThat(files()).containsExactly("step-00000000" + last + ".safetensors");
        assertThat(resume(ranks).get(0).isCancelled()).isFalse();
    }

    /** The last step of an epoch, and the one before, whose votes are read behind it. */
    @ParameterizedTest
    @ValueSource(ints = {BATCHES - 1, BATCHES})
    void inTheLastStepsOfAnEpochNoEvaluationFollows(int step) {
        Hvd.spawn(2, hvd -> {
            Rank rank = new Rank(hvd);
            rank.inStep = now -> {
                if (hvd.rank() == 1 && now.steps() + 1 == step) {
                    rank.end(How.CANCEL);
                }
            };
            rank.at = place -> {
                throw new AssertionError("reached " + place);
            };
            Training end = rank.train();
            assertThat(end.steps()).isEqualTo(BATCHES);
            assertThat(end.epoch()).isEqualTo(0);
            return null;
        });
        assertThat(resume(2).get(0).stepsResumed()).isEqualTo(BATCHES);
    }

    @ParameterizedTest
    @EnumSource(Moment.class)
    void whileNoStepsAreMadeTheCheckpointIsWrittenAtOnce(Moment place) throws IOException {
        for (How how : How.values()) {
            spawnBusyAt(place, how, 2);
            try (Stream<Path> files = Files.list(folder)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
        }
    }

    @Test
    void soItIsOnARankThatIsAlone() throws IOException {
        spawnBusyAt(Moment.EVALUATION, How.SIGTERM, 1);
        assertThat(files()).containsExactly("step-0000000008.safetensors");
        List<Training> resumed = resume(1);
        assertThat(resumed.get(0).stepsResumed()).isEqualTo(BATCHES);
        assertThat(resumed.get(0).steps()).isEqualTo(EPOCHS * BATCHES);
    }

    /** The last rank asks for the end, and all are busy until the first one has written the steps so far. */
    private void spawnBusyAt(Moment place, How how, int ranks) {
        var writing = new CompletableFuture<CountDownLatch>();
        List<Training> ends = Hvd.spawn(ranks, hvd -> {
            Rank rank = new Rank(hvd);
            if (hvd.rank() == 0) {
                writing.complete(rank.written);
            }
            var once = new AtomicReference<>(place);
            rank.at = now -> {
                if (now == place && once.getAndSet(null) != null) {
                    if (hvd.rank() == hvd.size() - 1 || place == Moment.LATER_BATCH) {
                        rank.end(how); // in the middle of an epoch the first rank hears its own signal
                    }
                    await(writing.join());
                }
            };
            return rank.train();
        });
        assertThat(ends).allSatisfy(end -> {
            assertThat(end.isCancelled()).isTrue();
            assertThat(end.steps()).as("at %s", place).isBetween((long) BATCHES, BATCHES + 3L);
        });
    }

    /** Such as one that measures the mean of the last weights. */
    @Test
    void aCheckpointThatIsWrittenDuringAnEvaluationHasTheWeightsOfBeforeIt() throws IOException {
        var writing = new CompletableFuture<CountDownLatch>();
        Hvd.spawn(2, hvd -> {
            Rank rank = new Rank(hvd);
            if (hvd.rank() == 0) {
                writing.complete(rank.written);
            }
            rank.at = place -> {
                if (place == Moment.EVALUATION) {
                    rank.weight[0] = 77;
                    rank.end(How.SIGTERM);
                    await(writing.join());
                    rank.weight[0] = BATCHES;
                }
            };
            return rank.train();
        });
        Checkpoint written = Checkpoint.read(folder.resolve("step-0000000008.safetensors"));
        assertThat((float[]) written.tensors().get("model.w").toArray()).containsExactly(BATCHES);
    }

    /** The threads that watch a pause call at moments of their own, also in strict mode. */
    @ParameterizedTest(name = "HVD_STRICT={0}")
    @ValueSource(strings = {"0", "1"})
    void anEvaluationWithCollectivesOfItsOwnGoesOnBesideTheWatch(String strict) {
        List<Training> ends = LocalRanks.spawn(2, InitOptions.standard(), Map.of("HVD_STRICT", strict), hvd -> {
            Rank rank = new Rank(hvd);
            rank.at = place -> {
                if (place == Moment.EVALUATION) {
                    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1_200);
                    for (int i = 0; agreed(hvd, System.nanoTime() < until); i++) {
                        hvd.allreduce("evaluation." + i % 3, Tensor.of(new float[] {i}));
                    }
                }
            };
            return rank.train();
        });
        assertThat(ends).allSatisfy(end -> assertThat(end.steps()).isEqualTo(EPOCHS * BATCHES));
    }

    /** A question to a queue, say, that fails once: the other ranks' threads must not wait for the one that has asked. */
    @Test
    void aReasonThatThrowsDuringAnEvaluationIsOne() {
        var thrown = new CountDownLatch(1);
        List<Training> ends = Hvd.spawn(2, hvd -> {
            Rank rank = new Rank(hvd);
            var evaluates = new AtomicBoolean();
            rank.inStep = now -> {
                if (hvd.rank() == 1 && now.steps() == 0) {
                    now.cancelWhen(() -> {
                        if (evaluates.getAndSet(false)) {
                            thrown.countDown();
                            throw new IllegalStateException("the queue does not answer");
                        }
                        return null;
                    });
                }
            };
            rank.at = place -> {
                if (place == Moment.EVALUATION) {
                    evaluates.set(true);
                    await(thrown);
                }
            };
            return rank.train();
        });
        assertThat(ends).allSatisfy(end -> {
            assertThat(end.steps()).isEqualTo(BATCHES);
            assertThat(end.cancelReasons().get(1)).contains("has thrown", "the queue does not answer");
        });
    }

    private static boolean agreed(HvdContext hvd, boolean mine) {
        return ((float[]) hvd.allreduce("agree", Tensor.of(new float[] {mine ? 1 : 0}))
                                .toArray())
                        [0]
                == 1;
    }

    @Test
    void beforeTheFirstBatchNothingIsTrainedAndNothingSaved() throws IOException {
        List<Training> ends = Hvd.spawn(2, hvd -> {
            Rank rank = new Rank(hvd);
            Callback early = new Callback() {
                @Override
                public void trainingBegins(Training training) {
                    if (hvd.rank() == 1) {
                        training.cancel("not today");
                    }
                }
            };
            return plain(hvd, early, null);
        });
        assertThat(ends).allSatisfy(end -> {
            assertThat(end.steps()).isZero();
            assertThat(end.stopReason()).contains("rank 1", "not today");
        });
        assertThat(files()).isEmpty();
    }

    @Test
    void aReasonWithoutWordsIsAReason() {
        List<Training> ends = Hvd.spawn(2, hvd -> {
            Callback silent = new Callback() {
                @Override
                public void batchEnds(Training training) {
                    if (hvd.rank() == 1) {
                        training.cancel("");
                    }
                }
            };
            return plain(hvd, silent, null);
        });
        assertThat(ends).allSatisfy(end -> {
            assertThat(end.cancelReasons()).containsExactly(Map.entry(1, ""));
            assertThat(end.isCancelled()).isTrue();
            assertThat(end.steps()).isLessThan(EPOCHS * BATCHES);
        });
    }

    /** Without AutoResume; ranks that join have different numbers of batches. */
    private static Training plain(HvdContext hvd, Callback callback, JoinDivisor divisor) {
        float[] gradient = {0};
        var optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", new float[] {0}, gradient), 1))
                .build();
        optimizer.broadcastParameters(0);
        int batches = divisor == null ? BATCHES : BATCHES + hvd.rank();
        TrainingLoop loop = TrainingLoop.of(hvd, optimizer).with(callback);
        if (divisor != null) {
            loop.join(divisor);
        }
        return loop.run(EPOCHS, IntStream.range(0, batches).boxed().toList(), batches, (batch, training) -> {
            optimizer.zeroGradients();
            gradient[0] = 1;
            optimizer.step();
        });
    }

    /** From a thread that is none of the ranks, as that of a service's handler. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anyThreadCancelsALoopWithoutCheckpointsAlsoOneWhoseRanksJoin(boolean join) {
        List<Training> ends = Hvd.spawn(3, hvd -> {
            Callback fromOutside = new Callback() {
                @Override
                public void batchBegins(Training training) throws Exception {
                    if (hvd.rank() == 0 && training.steps() == 3) {
                        Thread handler = new Thread(() -> training.cancel("a handler"));
                        handler.start();
                        handler.join();
                    }
                }
            };
            return plain(hvd, fromOutside, join ? JoinDivisor.ACTIVE : null);
        });
        assertThat(ends).allSatisfy(end -> {
            assertThat(end.isCancelled()).isTrue();
            assertThat(end.cancelReasons()).containsEntry(0, "a handler").hasSize(1);
            assertThat(end.epoch()).isZero();
        });
        assertThat(ends.get(1).steps()).isEqualTo(join ? BATCHES + 1 : 5);
    }

    /** Each step is of four batches; one rank asks in the sixth. */
    @Test
    void betweenBackwardPassesACancelAndACheckpointThatIsDueWaitForTheStep() throws IOException {
        List<Training> ends = Hvd.spawn(2, hvd -> accumulated(hvd, 6, 5));
        assertThat(ends).allSatisfy(end -> assertThat(end.steps()).isEqualTo(8));
        assertThat(files()).containsExactly("step-0000000008.safetensors");
        Hvd.spawn(2, hvd -> accumulated(hvd, 0, 1_000));
        Checkpoint last = Checkpoint.read(folder.resolve("step-0000000016.safetensors"));
        assertThat((float[]) last.tensors().get("model.w").toArray()).containsExactly(16);
    }

    private Training accumulated(HvdContext hvd, int askedIn, int every) {
        float[] gradient = {0};
        var optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", new float[] {0}, gradient), 1))
                .build();
        optimizer.broadcastParameters(0);
        var sampler =
                ElasticSampler.builder(16 * hvd.size(), hvd.size(), hvd.rank()).build();
        Dataset<Integer> numbers =
                Dataset.of(IntStream.range(0, 16 * hvd.size()).boxed().toList());
        try (var loader = DataLoader.<Integer, List<Integer>>builder(numbers, sampler, List::copyOf)
                        .build();
                var checkpoints = Checkpoints.in(folder, hvd, optimizer)
                        .with("sampler", sampler)
                        .build()) {
            return TrainingLoop.of(hvd, optimizer)
                    .with(AutoResume.everySteps(every, checkpoints, sampler))
                    .run(1, loader, (batch, training) -> {
                        gradient[0] -= 1;
                        if ((training.steps() + 1) % 4 == 0) {
                            optimizer.step();
                            optimizer.zeroGradients();
                        }
                        if (hvd.rank() == 1 && training.steps() + 1 == askedIn) {
                            training.cancel("enough");
                        }
                    });
        }
    }

    @Test
    void aTrainingThatHasEndedIsNotChangedByACancel() {
        Training end = Hvd.spawn(1, hvd -> plain(hvd, new Callback() {}, null)).get(0);
        end.cancel("too late");
        assertThat(end.isCancelled()).isFalse();
        assertThat(end.stopReason()).isNull();
    }

    /** As {@code digits} does, which has no TrainingLoop. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void aLoopOfOnesOwnHasItsStateSavedDuringAPauseAndEndsBehindIt(int ranks) throws IOException {
        var writing = new CompletableFuture<CountDownLatch>();
        Hvd.spawn(ranks, hvd -> {
            float[] weight = {5};
            var optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", weight, new float[1]), 1))
                    .build();
            CountDownLatch written = new CountDownLatch(1);
            if (hvd.rank() == 0) {
                writing.complete(written);
            }
            try (var vote = new TerminationVote(hvd);
                    var checkpoints = Checkpoints.in(folder, hvd, optimizer)
                            .output((checkpoint, file) -> {
                                checkpoint.write(file);
                                written.countDown();
                            })
                            .build()) {
                checkpoints.resumeLatest();
                assertThat(vote.afterStep()).isFalse();
                vote.pauseBegins(checkpoints, 1, 0);
                assertThat(vote.pauseEnds()).isFalse();
                assertThat(vote.afterStep()).isFalse();
                vote.pauseBegins(checkpoints, 2, 0);
                if (hvd.rank() == ranks - 1) {
                    vote.signal().raise();
                }
                await(writing.join());
                assertThat(vote.pauseEnds()).isTrue();
                checkpoints.saveAndWait(2, 0);
            }
            return null;
        });
        assertThat(files()).containsExactly("step-0000000002.safetensors");
    }
}
