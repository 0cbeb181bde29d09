package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.BarrierTimeoutException;
import io.hvd.error.RankMismatchException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Steps that repeat, so that their requests are remembered and, after ten of them, carried out without
 * negotiation; and everything that may come between.
 */
public class StepContractTest extends Contract {
    private static final int STEPS = 30;
    /** Within it all but the late rank come, on few cores too: the message names everybody who has not. */
    private static final Duration LATE = Duration.ofMillis(500);

    /** One step as a training makes it: gradients in another order on every rank, and all of them awaited. */
    private static void step(ProcessSet set, String model, int step, int... sizes) {
        int count = sizes.length;
        Map<Integer, Handle> handles = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            int turned = (i + set.rank()) % count;
            Tensor gradient = gradient(set, step, turned, sizes[turned]);
            handles.put(turned, set.allreduceInPlaceAsync(model + "." + turned, gradient, AllreduceOptions.average()));
        }
        handles.forEach((i, handle) -> requireMean(set, handle, step, i, sizes[i]));
    }

    private static Tensor gradient(ProcessSet set, int step, int index, int size) {
        return Values.tensor(DType.FLOAT32, Shape.of(size), at -> 4 * set.rank() + step + index + at % 3);
    }

    private static void requireMean(ProcessSet set, Handle handle, int step, int index, int size) {
        float[] found = handle.synchronize().toFloatArray();
        assertThat(found).hasSize(size);
        for (int at = 0; at < size; at++) {
            float expected = 2 * (set.size() - 1) + step + index + at % 3;
            // Sums of small whole numbers are exact; the division may round.
            if (Math.abs(found[at] - expected) > 1e-4f) {
                throw new AssertionError(handle.name() + " in step " + step + " at " + at + ": found " + found[at]
                        + ", expected " + expected);
            }
        }
    }

    @Test
    void manyIdenticalStepsGiveTheirOwnResultsEach() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < STEPS; step++) {
                step(hvd, "plain", step, 3, 1, 0, 700, 20);
            }
            return null;
        });
    }

    /** The others meet in the coordinator, not in the data plane, where they would have to wait for the last rank. */
    @Test
    void aMonitoredBarrierKeepsItsLimitBetweenStepsThatAreNotNegotiated() throws Exception {
        onAllOf(2, hvd -> {
            int late = hvd.size() - 1;
            for (int round = 0; round < 2; round++) {
                for (int step = 0; step < 14; step++) {
                    step(hvd, "limited", step, 3, 20);
                    hvd.monitoredBarrier(Duration.ofMinutes(1));
                }
                Duration atMost = hvd.rank() == late ? Duration.ofMinutes(1) : LATE;
                if (hvd.rank() == late) {
                    hvd.allreduceInPlace("limited.release", Tensor.of(1f), AllreduceOptions.sum());
                }
                assertThatThrownBy(() -> hvd.monitoredBarrier(atMost))
                        .isInstanceOf(BarrierTimeoutException.class)
                        .hasMessageContainingAll(LATE.toMillis() + " ms", "{" + late + "}");
                if (hvd.rank() != late) {
                    hvd.allreduceInPlace("limited.release", Tensor.of(1f), AllreduceOptions.sum());
                }
            }
            return null;
        });
    }

    @Test
    void stepsOfTensorsLargerThanAStageAreCarriedOutToo() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < 14; step++) {
                step(hvd, "large", step, 70_001, 5, 150_000);
            }
            return null;
        });
    }

    @Test
    void stepsOfEmptyTensorsOnlyAreStepsToo() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < STEPS; step++) {
                step(hvd, "empty", step, 0, 0);
            }
            requireUsable(hvd, "empty");
            step(hvd, "empty", 0, 0, 0);
            return null;
        });
    }

    @Test
    void everyTypeOperationAndCompressionMayBePartOfAStep() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < STEPS; step++) {
                Map<String, Handle> handles = new LinkedHashMap<>();
                for (DType type : DType.values()) {
                    for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX)) {
                        handles.put(
                                type + "." + op,
                                hvd.allreduceAsync(
                                        "types." + type + "." + op,
                                        Values.ramp(type, 6, hvd.rank()),
                                        AllreduceOptions.of(op)));
                    }
                }
                AllreduceOptions fp16 = AllreduceOptions.average().withCompression(Compression.FP16);
                Handle half = hvd.allreduceAsync("types.fp16", Tensor.of(1.5f), fp16);
                AllreduceOptions product = AllreduceOptions.of(ReduceOp.PRODUCT).withPrescale(2);
                Handle powers = hvd.allreduceAsync("types.product", Tensor.of(1.0), product);
                for (DType type : DType.values()) {
                    for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX)) {
                        assertThat(handles.get(type + "." + op).synchronize().toFloatArray())
                                .as("%s of %s in step %s", op, type, step)
                                .isEqualTo(Values.expected(type, 6, hvd.size(), op));
                    }
                }
                assertThat(half.synchronize().item()).isCloseTo(1.5f, ROUNDED);
                assertThat(powers.synchronize().item()).isEqualTo((float) Math.pow(2, hvd.size()));
            }
            // Out of the middle of such a step, with every kind of reduction next in line.
            requireUsable(hvd, "types");
            return null;
        });
    }

    @Test
    void metricsMayComeBetweenAtAnyTime() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < 60; step++) {
                step(hvd, "metrics", step, 3, 50);
                if (step % 15 == 14) {
                    assertThat(sum(hvd, "loss", step)).isEqualTo(step * hvd.size());
                    Tensor all = hvd.allgather("accuracy", Tensor.of(new float[hvd.rank()]));
                    assertThat(all.elements()).isEqualTo(hvd.size() * (hvd.size() - 1) / 2);
                }
            }
            return null;
        });
    }

    @Test
    void metricsOfEveryStepAreNeverInTheWay() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < STEPS; step++) {
                step(hvd, "every", step, 3, 50);
                assertThat(sum(hvd, "every.loss", step)).isEqualTo(step * hvd.size());
            }
            return null;
        });
    }

    @Test
    void aTensorThatAllRanksLeaveOutHoldsNobodyUp() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < 50; step++) {
                if (step % 16 == 15) {
                    step(hvd, "skip", step, 3, 50);
                } else {
                    step(hvd, "skip", step, 3, 50, 7);
                }
            }
            return null;
        });
    }

    @Test
    void aTensorThatIsPolledHoldsNobodyUpEither() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < STEPS; step++) {
                step(hvd, "poll", step, 3, 50, 7);
            }
            Handle alone = hvd.allreduceInPlaceAsync("poll.1", gradient(hvd, 5, 1, 50), AllreduceOptions.average());
            while (!alone.poll()) {
                Thread.onSpinWait();
            }
            requireMean(hvd, alone, 5, 1, 50);
            return null;
        });
    }

    @Test
    void aTensorThatNobodyWaitsForIsNotHeldBackForEver() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < STEPS; step++) {
                step(hvd, "nobody", step, 3, 50, 7);
            }
            CountDownLatch done = new CountDownLatch(1);
            Handle alone = hvd.allreduceInPlaceAsync("nobody.1", gradient(hvd, 5, 1, 50), AllreduceOptions.average());
            alone.whenDone(done::countDown);
            assertThat(done.await(60, TimeUnit.SECONDS)).isTrue();
            requireMean(hvd, alone, 5, 1, 50);
            return null;
        });
    }

    /**
     * A program that nearly always waits at once, so that the last batch is left to it, with anything else in between
     * and at any time of the communication thread's sleep.
     */
    @Test
    void anythingMayComeBetweenStepsThatTheProgramCarriesOutItself() throws Exception {
        onAll(hvd -> {
            int mine = ThreadLocalRandom.current().nextInt(1 << 16);
            long seed = (long) sum(hvd, "own.seed", mine);
            try {
                stepsAndOtherThings(hvd, new Random(seed), new Random(seed + hvd.rank()));
            } catch (AssertionError e) {
                throw new AssertionError("with the seed " + seed, e);
            }
            return null;
        });
    }

    /** @param ofAll draws what all ranks do */
    private static void stepsAndOtherThings(HvdContext hvd, Random ofAll, Random ofThisRank)
            throws InterruptedException {
        for (int step = 0; step < 24 * STEPS; step++) {
            if (ofAll.nextInt(30) == 0) {
                TimeUnit.MICROSECONDS.sleep(ofThisRank.nextInt(9_000));
            }
            int what = ofAll.nextInt(240);
            if (step > STEPS) {
                doOtherThing(hvd, what, step, ofThisRank);
            }
            step(hvd, "own", step, 3, 50, 7, 4096);
        }
    }

    /** @param what which of several things all ranks do beside their steps, or nothing */
    private static void doOtherThing(HvdContext hvd, int what, int step, Random ofThisRank)
            throws InterruptedException {
        if (what == 1) {
            hvd.barrier();
        } else if (what == 2) {
            hvd.monitoredBarrier(Duration.ofSeconds(60));
        } else if (what == 3) {
            Tensor sum = hvd.allreduceInPlace("new." + step, Tensor.of((float) hvd.rank()), AllreduceOptions.sum());
            assertThat(sum.item()).isEqualTo(hvd.size() * (hvd.size() - 1) / 2f);
        } else if (what == 4) {
            // planned, but in a call that blocks
            Tensor mean = hvd.allreduceInPlace("own.1", gradient(hvd, step, 1, 50), AllreduceOptions.average());
            assertThat(mean.elements()).isEqualTo(50);
        } else if (what == 5) {
            CountDownLatch done = new CountDownLatch(1);
            hvd.allreduceInPlaceAsync("own.0", gradient(hvd, step, 0, 3), AllreduceOptions.average())
                    .whenDone(done::countDown);
            assertThat(done.await(60, TimeUnit.SECONDS)).isTrue();
        } else if (what == 6) {
            Handle all = hvd.allreduceInPlaceAsync("own.2", gradient(hvd, step, 2, 7), AllreduceOptions.average());
            TimeUnit.MICROSECONDS.sleep(ofThisRank.nextInt(12_000));
            requireMean(hvd, all, step, 2, 7);
        }
    }

    @Test
    void aTensorThatOneRankBringsLateIsWaitedFor() throws Exception {
        onAllOf(2, hvd -> {
            for (int step = 0; step < STEPS; step++) {
                step(hvd, "late", step, 3, 50, 7);
            }
            // Rank 0 first needs one tensor alone, which the others bring in a full step.
            if (hvd.rank() == 0) {
                Handle one = hvd.allreduceInPlaceAsync("late.1", gradient(hvd, 9, 1, 50), AllreduceOptions.average());
                requireMean(hvd, one, 9, 1, 50);
                Handle two = hvd.allreduceInPlaceAsync("late.0", gradient(hvd, 9, 0, 3), AllreduceOptions.average());
                Handle three = hvd.allreduceInPlaceAsync("late.2", gradient(hvd, 9, 2, 7), AllreduceOptions.average());
                requireMean(hvd, two, 9, 0, 3);
                requireMean(hvd, three, 9, 2, 7);
            } else {
                step(hvd, "late", 9, 3, 50, 7);
            }
            return null;
        });
    }

    @Test
    void shapesThatChangeOnAllRanksAreTakenAsTheyCome() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < 60; step++) {
                int size = step < 25 ? 40 : step < 27 ? 41 : step < 45 ? 40 : 0;
                step(hvd, "shapes", step, 3, size, 7);
            }
            return null;
        });
    }

    @Test
    void aShapeThatChangesOnOneRankFailsOnAllAndTheStepsGoOn() throws Exception {
        onAllOf(2, hvd -> {
            for (int round = 0; round < 3; round++) {
                for (int step = 0; step < 15; step++) {
                    step(hvd, "odd", step, 3, 50);
                }
                int size = hvd.rank() == 1 ? 4 : 3;
                Handle odd = hvd.allreduceInPlaceAsync("odd.0", Tensor.of(new float[size]), AllreduceOptions.average());
                assertThatThrownBy(odd::synchronize)
                        .isInstanceOf(RankMismatchException.class)
                        .hasMessageContainingAll("\"odd.0\"", "[4] on ranks {1}");
            }
            return null;
        });
    }

    @Test
    void anotherOperationUnderANameOfTheStepFailsOnAllAndTheStepsGoOn() throws Exception {
        onAllOf(2, hvd -> {
            for (int round = 0; round < 2; round++) {
                for (int step = 0; step < 15; step++) {
                    step(hvd, "kind", step, 3, 50);
                }
                Tensor tensor = Tensor.of(new float[3]);
                Handle odd = hvd.rank() == 1
                        ? hvd.allgatherAsync("kind.0", tensor)
                        : hvd.allreduceAsync("kind.0", tensor, AllreduceOptions.average());
                assertThatThrownBy(odd::synchronize)
                        .isInstanceOf(RankMismatchException.class)
                        .hasMessageContainingAll("\"kind.0\"", "allgather", "allreduce");
            }
            return null;
        });
    }

    @Test
    void aBarrierInTheMiddleOfAStepIsKept() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < 40; step++) {
                if (step % 13 == 12) {
                    Handle first = hvd.allreduceInPlaceAsync(
                            "middle.0", gradient(hvd, step, 0, 3), AllreduceOptions.average());
                    hvd.barrier();
                    Handle second = hvd.allreduceInPlaceAsync(
                            "middle.1", gradient(hvd, step, 1, 50), AllreduceOptions.average());
                    requireMean(hvd, first, step, 0, 3);
                    requireMean(hvd, second, step, 1, 50);
                } else {
                    step(hvd, "middle", step, 3, 50);
                }
            }
            return null;
        });
    }

    @Test
    void oneTensorAfterTheOtherIsAStepToo() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < STEPS; step++) {
                for (int i = 0; i < 4; i++) {
                    Tensor sum = hvd.allreduce("one." + i, Tensor.of(step, i), AllreduceOptions.sum());
                    assertThat((int[]) sum.toArray()).containsExactly(step * hvd.size(), i * hvd.size());
                }
            }
            return null;
        });
    }

    @Test
    void aTensorOfTheNextStepMayComeBeforeThisOneIsOver() throws Exception {
        onAll(hvd -> {
            Handle ahead = null;
            for (int step = 0; step < 40; step++) {
                Handle first = ahead != null
                        ? ahead
                        : hvd.allreduceAsync("ahead.first", Tensor.of(step), AllreduceOptions.sum());
                assertThat(first.synchronize().item()).isEqualTo(step * hvd.size());
                ahead = hvd.allreduceAsync("ahead.first", Tensor.of(step + 1), AllreduceOptions.sum());
                Tensor second = hvd.allreduce("ahead.second", Tensor.of(-step), AllreduceOptions.sum());
                assertThat(second.item()).isEqualTo(-step * hvd.size());
            }
            assertThat(ahead.synchronize().item()).isEqualTo(40 * hvd.size());
            return null;
        });
    }

    @Test
    void groupsMayBeTheSteps() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < STEPS; step++) {
                List<Tensor> tensors = List.of(Tensor.of((float) step), Tensor.of(2.0 * step), Tensor.of(3 * step));
                List<Tensor> sums = hvd.groupedAllreduce("groups", tensors, AllreduceOptions.sum());
                assertThat(sums.get(0).item()).isEqualTo(step * hvd.size());
                assertThat(sums.get(1).item()).isEqualTo(2 * step * hvd.size());
                assertThat(sums.get(2).item()).isEqualTo(3 * step * hvd.size());
            }
            return null;
        });
    }

    @Test
    void everyRememberedOperationGivesItsOwnResultEachTime() throws Exception {
        onAll(hvd -> {
            int n = hvd.size();
            for (int step = 0; step < STEPS; step++) {
                int rows = step < 20 ? 1 : 2;
                Tensor all = hvd.allgather("again.gather", Tensor.of(filled(rows, step + hvd.rank())));
                assertThat(all.toFloatArray()).hasSize(rows * n);
                assertThat(all.toFloatArray()[rows * n - 1]).isEqualTo(step + n - 1);
                Tensor part = hvd.reducescatter("again.rs", Tensor.of(filled(n, step)), AllreduceOptions.sum());
                assertThat(part.item()).isEqualTo(n * step);
                float[] exchanged = hvd.alltoall("again.a2a", Tensor.of(filled(n, step + hvd.rank())))
                        .output()
                        .toFloatArray();
                assertThat(exchanged[n - 1]).isEqualTo(step + n - 1);
                assertThat(hvd.broadcast("again.b", Tensor.of((float) step + hvd.rank()), n - 1)
                                .item())
                        .isEqualTo(step + n - 1);
            }
            return null;
        });
    }

    private static float[] filled(int size, float value) {
        float[] values = new float[size];
        Arrays.fill(values, value);
        return values;
    }

    @Test
    void moreRequestsThanAreRememberedAreStillServed() throws Exception {
        onAll(hvd -> {
            for (int round = 0; round < 3; round++) {
                List<Handle> handles = new ArrayList<>();
                for (int i = 0; i < 1_500; i++) {
                    int turned = (i + 31 * hvd.rank()) % 1_500;
                    Tensor tensor = Tensor.of(turned + round);
                    handles.add(hvd.allreduceInPlaceAsync("full." + turned, tensor, AllreduceOptions.sum()));
                }
                for (int i = 0; i < 1_500; i++) {
                    int turned = (i + 31 * hvd.rank()) % 1_500;
                    assertThat(handles.get(i).synchronize().item()).isEqualTo(hvd.size() * (turned + round));
                }
            }
            return null;
        });
    }

    @Test
    void aProcessSetMayBeAddedAfterManySteps() throws Exception {
        onAllOf(2, hvd -> {
            for (int step = 0; step < STEPS; step++) {
                step(hvd, "sets", step, 3, 50);
            }
            ProcessSet set = hvd.addProcessSet(List.of(0));
            for (int step = 0; step < STEPS; step++) {
                step(hvd, "sets", step, 3, 50);
                if (set.included()) {
                    step(set, "sets", step, 5);
                }
            }
            hvd.removeProcessSet(set);
            for (int step = 0; step < STEPS; step++) {
                step(hvd, "sets", step, 3, 50);
            }
            return null;
        });
    }

    @Test
    void aRankMayJoinAfterManySteps() throws Exception {
        onAllOf(2, hvd -> {
            for (int round = 0; round < 2; round++) {
                for (int step = 0; step < STEPS; step++) {
                    step(hvd, "join", step, 3, 50);
                }
                if (hvd.rank() != 0) {
                    Tensor sum = hvd.allreduce("join.0", Tensor.of(1f, 1f, 1f), AllreduceOptions.sum());
                    assertThat(sum.toFloatArray()).containsOnly(hvd.size() - 1);
                }
                assertThat(hvd.join()).isNotZero();
            }
            return null;
        });
    }

    @Test
    void twoModelsTakeTurns() throws Exception {
        onAll(hvd -> {
            for (int epoch = 0; epoch < 4; epoch++) {
                for (int step = 0; step < 13; step++) {
                    step(hvd, "generator", step, 3, 50);
                }
                for (int step = 0; step < 13; step++) {
                    step(hvd, "discriminator", step, 9);
                }
            }
            for (int step = 0; step < STEPS; step++) {
                step(hvd, "generator", step, 3, 50);
                step(hvd, "discriminator", step, 9);
            }
            return null;
        });
    }

    @Test
    void severalThreadsOfARankShareTheSteps() throws Exception {
        onAll(hvd -> {
            List<Thread> threads = new ArrayList<>();
            List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
            for (int i = 0; i < 3; i++) {
                String model = "thread." + i;
                threads.add(new Thread(() -> steps(hvd, model)));
            }
            threads.forEach(thread -> thread.setUncaughtExceptionHandler((which, why) -> failures.add(why)));
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join(100_000);
            }
            assertThat(failures).isEmpty();
            assertThat(threads).noneMatch(Thread::isAlive);
            return null;
        });
    }

    private static void steps(HvdContext hvd, String model) {
        for (int step = 0; step < STEPS; step++) {
            step(hvd, model, step, 3, 50);
        }
    }
}
