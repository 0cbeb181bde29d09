package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.PreparedAllreduce;
import io.hvd.PreparedCollective;
import io.hvd.ProcessSet;
import io.hvd.error.DuplicateNameException;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** Broadcasts, allgathers and reducescatters that are prepared once and started in every step. */
public class PreparedMovementContractTest extends Contract {
    private static final int STEPS = 15;
    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    private static void fill(Tensor tensor, int with) {
        tensor.copyFrom(Values.tensor(tensor.dtype(), tensor.shape(), at -> with + at % 5));
    }

    private static void requireFilled(Tensor tensor, int with) {
        requireEqual(tensor, Values.tensor(tensor.dtype(), tensor.shape(), at -> with + at % 5));
    }

    private static void requireEqual(Tensor found, Tensor expected) {
        assertThat(found.shape()).isEqualTo(expected.shape());
        assertThat(found.toArray()).isEqualTo(expected.toArray());
    }

    @Test
    void everyStartSendsWhatTheRootHasThen() throws Exception {
        onAll(hvd -> {
            for (int root = 0; root < hvd.size(); root++) {
                List<Tensor> tensors = List.of(
                        Tensor.of(new float[3]),
                        Tensor.zeros(DType.INT32, Shape.of(700, 2)),
                        Tensor.zeros(DType.FLOAT64, Shape.of(0, 4)),
                        Tensor.of(new float[40_001]));
                List<String> names = List.of("a" + root, "b" + root, "c" + root, "d" + root);
                try (PreparedCollective sent = hvd.prepareBroadcast(names, tensors, root)) {
                    assertThat(sent.bytes()).isEqualTo(4 * (3 + 1400 + 40_001));
                    for (int step = 0; step < STEPS; step++) {
                        for (Tensor tensor : tensors) {
                            fill(tensor, 7 * hvd.rank() + step);
                        }
                        sent.start();
                        sent.await();
                        for (Tensor tensor : tensors) {
                            requireFilled(tensor, 7 * root + step);
                        }
                        assertThat(sent.bytesDone()).isEqualTo(sent.bytes());
                    }
                    assertThat(sent.results()).isEqualTo(tensors);
                }
            }
            return null;
        });
    }

    /** Rank 0 has no rows of the first tensor. */
    @Test
    void everyStartGathersIntoNewTensors() throws Exception {
        onAll(hvd -> {
            Tensor rows = Tensor.zeros(DType.INT64, Shape.of(hvd.rank(), 2));
            Tensor one = Tensor.of(new float[] {0});
            PreparedCollective gathered = hvd.prepareAllgather(List.of("rows", "one"), List.of(rows, one));
            List<List<Tensor>> all = new ArrayList<>();
            for (int step = 0; step < STEPS; step++) {
                fill(rows, 10 * hvd.rank() + step);
                fill(one, 10 * hvd.rank() + step);
                gathered.start();
                all.add(gathered.results());
            }
            for (int step = 0; step < STEPS; step++) {
                assertThat(all.get(step)).hasSize(2);
                requireGathered(hvd, all.get(step), step);
            }
            return null;
        });
    }

    private static void requireGathered(HvdContext hvd, List<Tensor> found, int step) {
        List<Long> rows = new ArrayList<>();
        List<Float> ones = new ArrayList<>();
        for (int rank = 0; rank < hvd.size(); rank++) {
            ones.add(10f * rank + step);
            for (int at = 0; at < 2 * rank; at++) {
                rows.add(10L * rank + step + at % 5);
            }
        }
        assertThat(found.get(0).shape()).isEqualTo(Shape.of(rows.size() / 2, 2));
        assertThat((long[]) found.get(0).toArray()).containsExactly(rows.toArray(Long[]::new));
        assertThat(found.get(1).toFloatArray()).containsExactly(ones.toArray(Float[]::new));
    }

    /** The rows do not divide evenly: the last rank has one row, the others have two. */
    @Test
    void everyStartScattersSumsIntoNewTensors() throws Exception {
        onAll(hvd -> {
            int size = hvd.size();
            int count = 2 * size - 1;
            Tensor input = Tensor.zeros(DType.FLOAT32, Shape.of(count, 3));
            PreparedCollective scattered = hvd.prepareReducescatter(List.of("sums"), List.of(input), SUM);
            List<Tensor> all = new ArrayList<>();
            for (int step = 0; step < STEPS; step++) {
                fill(input, hvd.rank() + step);
                scattered.start();
                all.add(scattered.results().get(0));
            }
            boolean isLast = hvd.rank() == size - 1;
            int before = size * (size - 1) / 2;
            int from = 3 * 2 * hvd.rank();
            for (int step = 0; step < STEPS; step++) {
                int begun = step;
                requireEqual(
                        all.get(step),
                        Values.tensor(
                                DType.FLOAT32,
                                Shape.of(isLast ? 1 : 2, 3),
                                at -> before + size * (begun + (from + at) % 5)));
            }
            return null;
        });
    }

    /** A training whose static plan ends for the buffers of every fifth step, which travel beside gradients. */
    @Test
    void theyGoTogetherWithPreparedAllreducesThatRepeat() throws Exception {
        onAll(hvd -> {
            Tensor gradient = Tensor.of(new float[9]);
            Tensor buffer = Tensor.of(new double[4]);
            Tensor found = Tensor.of(new int[2]);
            PreparedAllreduce sum = hvd.prepareAllreduce(List.of("gradient"), List.of(gradient), SUM);
            PreparedCollective buffers = hvd.prepareBroadcast(List.of("buffer"), List.of(buffer), 0);
            PreparedCollective gather = hvd.prepareAllgather(List.of("found"), List.of(found));
            for (int step = 0; step < 60; step++) {
                fill(gradient, step);
                if (step < 20 || step % 5 == 0) {
                    fill(buffer, hvd.rank() + step);
                    fill(found, hvd.rank() + step);
                    PreparedCollective.startAll(List.of(buffers, sum, gather));
                    assertThat(gather.results().get(0).elements()).isEqualTo(2L * hvd.size());
                    buffers.await();
                    requireFilled(buffer, step);
                } else {
                    sum.start();
                }
                sum.await();
                int begun = step;
                requireEqual(
                        gradient, Values.tensor(DType.FLOAT32, gradient.shape(), at -> hvd.size() * (begun + at % 5)));
            }
            return null;
        });
    }

    @Test
    void theRanksMayPrepareOtherGroupsOrNone() throws Exception {
        onAll(hvd -> {
            int root = hvd.size() - 1;
            List<String> names = List.of("mixed.0", "mixed.1");
            List<Tensor> tensors = List.of(Tensor.of(new float[3]), Tensor.of(new float[8]));
            PreparedCollective both = hvd.prepareBroadcast(names, tensors, root);
            for (int step = 0; step < STEPS; step++) {
                for (Tensor tensor : tensors) {
                    fill(tensor, hvd.rank() + step);
                }
                if ((step + hvd.rank()) % 2 == 0) {
                    both.start();
                    both.await();
                } else {
                    Handle second = hvd.broadcastInPlaceAsync(names.get(1), tensors.get(1), root);
                    hvd.broadcastInPlace(names.get(0), tensors.get(0), root);
                    second.synchronize();
                }
                for (Tensor tensor : tensors) {
                    requireFilled(tensor, root + step);
                }
            }
            return null;
        });
    }

    @Test
    void noneIsStartedTwice() throws Exception {
        onAllOf(2, hvd -> {
            Tensor tensor = Tensor.of(1f + hvd.rank());
            PreparedCollective twice = hvd.prepareBroadcast(List.of("twice"), List.of(tensor), 1);
            if (hvd.rank() == 0) {
                twice.start();
                assertThatThrownBy(twice::start)
                        .isInstanceOf(DuplicateNameException.class)
                        .hasMessageContainingAll("twice", "await");
                hvd.barrier();
            } else {
                hvd.barrier();
                twice.start();
            }
            twice.await();
            assertThat(tensor.item()).isEqualTo(2);
            return null;
        });
    }

    /** The last rank has another shape of the broadcast's tensor, and another type of the gathered one. */
    @Test
    void aMismatchFailsOnAllRanksAndTheNextStartSucceeds() throws Exception {
        onAllOf(2, hvd -> {
            boolean odd = hvd.rank() == hvd.size() - 1;
            PreparedCollective sends = hvd.prepareBroadcast(List.of("shape"), List.of(Tensor.of(1f, 2f)), 0);
            PreparedCollective gathers = hvd.prepareAllgather(List.of("type"), List.of(Tensor.of(1f, 2f)));
            PreparedCollective longer = hvd.prepareBroadcast(List.of("shape"), List.of(Tensor.of(1f, 2f, 3f)), 0);
            PreparedCollective wider = hvd.prepareAllgather(List.of("type"), List.of(Tensor.of(1.0, 2.0)));
            for (int round = 0; round < 2; round++) {
                PreparedCollective.startAll(odd ? List.of(longer, wider) : List.of(sends, gathers));
                for (PreparedCollective failed : odd ? List.of(longer, wider) : List.of(sends, gathers)) {
                    assertThatThrownBy(failed::results)
                            .isInstanceOf(RankMismatchException.class)
                            .hasMessageContainingAll(failed.names().get(0), "{" + (hvd.size() - 1) + "}");
                }
                PreparedCollective.startAll(List.of(gathers, sends));
                sends.await();
                assertThat(gathers.results().get(0).elements()).isEqualTo(2L * hvd.size());
            }
            return null;
        });
    }

    @Test
    void aSetOfSomeRanksPreparesForItself() throws Exception {
        onAllOf(3, hvd -> {
            int last = hvd.size() - 1;
            ProcessSet some = hvd.addProcessSet(List.of(1, last));
            Tensor tensor = Tensor.of(1f + hvd.rank());
            if (some.included()) {
                PreparedCollective prepared = some.prepareBroadcast(List.of("some"), List.of(tensor), last);
                prepared.start();
                prepared.await();
                assertThat(tensor.item()).isEqualTo(1 + last);
                assertThatThrownBy(() -> some.prepareBroadcast(List.of("none"), List.of(tensor), 0))
                        .isInstanceOf(HvdException.class)
                        .hasMessageContainingAll("root rank 0", "not in process set");
                PreparedCollective elsewhere = hvd.prepareBroadcast(List.of("all"), List.of(tensor), last);
                assertThatThrownBy(() -> PreparedCollective.startAll(List.of(prepared, elsewhere)))
                        .isInstanceOf(HvdException.class)
                        .hasMessageContainingAll("some", "all", "different process sets");
                hvd.removeProcessSet(some);
                assertThatThrownBy(prepared::start)
                        .isInstanceOf(HvdException.class)
                        .hasMessageContainingAll("prepared broadcast", "some", "removed");
            } else {
                assertThatThrownBy(() -> some.prepareAllgather(List.of("some"), List.of(tensor)))
                        .isInstanceOf(HvdException.class)
                        .hasMessageContainingAll("prepared allgather", "not in process set");
                hvd.removeProcessSet(some);
            }
            return null;
        });
    }

    @Test
    void whatCannotBePreparedOrStartedIsRefusedAtOnce() throws Exception {
        onAll(hvd -> {
            Tensor tensor = Tensor.of(1f);
            Tensor scalar = Tensor.zeros(DType.FLOAT32, Shape.of());
            refused(() -> hvd.prepareBroadcast(List.of("one", "two"), List.of(tensor), 0), "2 names", "1 tensors");
            refused(() -> hvd.prepareBroadcast(List.of("one", "one"), List.of(tensor, tensor), 0), "\"one\"", "twice");
            refused(() -> hvd.prepareBroadcast(List.of("one"), List.of(tensor), hvd.size()), "one", "root rank");
            refused(() -> hvd.prepareAllgather(List.of("one"), List.of(scalar)), "\"one\"", "scalar");
            refused(() -> hvd.prepareReducescatter(List.of("one"), List.of(scalar), SUM), "\"one\"", "scalar");
            PreparedCollective gathers = hvd.prepareAllgather(List.of("one"), List.of(tensor));
            refused(gathers::results, "prepared allgather", "one", "not been started");
            gathers.close();
            gathers.close();
            refused(
                    () -> {
                        gathers.start();
                        return null;
                    },
                    "prepared allgather",
                    "one",
                    "closed");
            requireUsable(hvd, "refusals");
            return null;
        });
    }

    private static void refused(Callable<?> call, String... facts) {
        assertThatThrownBy(call::call).isInstanceOf(HvdException.class).hasMessageContainingAll(facts);
    }
}
