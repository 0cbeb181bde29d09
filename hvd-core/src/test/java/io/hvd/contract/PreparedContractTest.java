package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.Handle;
import io.hvd.PreparedAllreduce;
import io.hvd.ProcessSet;
import io.hvd.error.DuplicateNameException;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Allreduces that are prepared once and started in every step. */
public class PreparedContractTest extends Contract {
    private static final int STEPS = 30;
    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    /** Tensors of several sizes, on the heap and beside it. */
    private static List<Tensor> tensors(int... sizes) {
        List<Tensor> tensors = new ArrayList<>();
        for (int size : sizes) {
            tensors.add(size % 2 == 0 ? Tensor.of(new float[size]) : Tensor.zeros(DType.FLOAT32, Shape.of(size)));
        }
        return tensors;
    }

    private static List<String> names(String model, List<Tensor> tensors) {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < tensors.size(); i++) {
            names.add(model + "." + i);
        }
        return names;
    }

    private static void fill(ProcessSet set, List<Tensor> tensors, int step) {
        for (int i = 0; i < tensors.size(); i++) {
            int index = i;
            Shape shape = tensors.get(i).shape();
            tensors.get(i).copyFrom(Values.tensor(DType.FLOAT32, shape, at -> value(set.rank(), step, index, at)));
        }
    }

    private static int value(int rank, int step, int index, int at) {
        return 4 * rank + step + index + at % 3;
    }

    private static void requireSums(ProcessSet set, List<Tensor> tensors, int step) {
        int size = set.size();
        for (int i = 0; i < tensors.size(); i++) {
            float[] found = tensors.get(i).toFloatArray();
            for (int at = 0; at < found.length; at++) {
                int expected = 2 * size * (size - 1) + size * value(0, step, i, at);
                if (found[at] != expected) {
                    throw new AssertionError("tensor " + i + " in step " + step + " at " + at + ": found " + found[at]
                            + ", expected " + expected);
                }
            }
        }
    }

    @Test
    void everyStartReducesWhatLiesInTheTensorsThen() throws Exception {
        onAll(hvd -> {
            List<Tensor> tensors = tensors(3, 0, 700, 20, 1);
            try (PreparedAllreduce bucket = hvd.prepareAllreduce(names("again", tensors), tensors, SUM)) {
                assertThat(bucket.isDone()).as("before the first start").isTrue();
                assertThat(bucket.bytes()).isEqualTo(4 * 724);
                for (int step = 0; step < STEPS; step++) {
                    fill(hvd, tensors, step);
                    bucket.start();
                    bucket.await();
                    requireSums(hvd, tensors, step);
                    assertThat(bucket.bytesDone()).isEqualTo(bucket.bytes());
                }
            }
            return null;
        });
    }

    /** The ranks find each other by name, however each of them asks. */
    @Test
    void theRanksMayPrepareOtherGroupsOrNone() throws Exception {
        onAll(hvd -> {
            List<Tensor> tensors = tensors(3, 8, 5);
            List<String> names = names("mixed", tensors);
            PreparedAllreduce all = hvd.prepareAllreduce(names, tensors, SUM);
            PreparedAllreduce first = hvd.prepareAllreduce(names.subList(0, 1), tensors.subList(0, 1), SUM);
            PreparedAllreduce rest = hvd.prepareAllreduce(names.subList(1, 3), tensors.subList(1, 3), SUM);
            for (int step = 0; step < STEPS; step++) {
                fill(hvd, tensors, step);
                switch ((step / 12 + hvd.rank()) % 3) {
                    case 0 -> {
                        all.start();
                        all.await();
                    }
                    case 1 -> {
                        PreparedAllreduce.startAll(List.of(rest, first));
                        first.await();
                        rest.await();
                    }
                    default -> {
                        List<Handle> handles = new ArrayList<>();
                        for (int i = 2; i >= 0; i--) {
                            handles.add(hvd.allreduceInPlaceAsync(names.get(i), tensors.get(i), SUM));
                        }
                        handles.forEach(Handle::synchronize);
                    }
                }
                requireSums(hvd, tensors, step);
            }
            return null;
        });
    }

    /** Some ranks wait at once and carry the steps out themselves, others leave that to their communication thread. */
    @Test
    void aThreadThatWaitsAtOnceMayCarryThemOut() throws Exception {
        onAll(hvd -> {
            List<Tensor> tensors = tensors(3, 8, 70_001);
            List<String> names = names("awaited", tensors);
            List<PreparedAllreduce> buckets = List.of(
                    hvd.prepareAllreduce(names.subList(2, 3), tensors.subList(2, 3), SUM),
                    hvd.prepareAllreduce(names.subList(0, 2), tensors.subList(0, 2), SUM));
            PreparedAllreduce.startAllAwaited(List.of());
            for (int step = 0; step < 2 * STEPS; step++) {
                fill(hvd, tensors, step);
                if ((step / STEPS + hvd.rank()) % 2 == 0) {
                    PreparedAllreduce.startAllAwaited(buckets);
                } else {
                    buckets.forEach(PreparedAllreduce::start);
                }
                buckets.forEach(PreparedAllreduce::await);
                requireSums(hvd, tensors, step);
            }
            return null;
        });
    }

    @Test
    void severalBucketsTravelBesideEachOther() throws Exception {
        onAll(hvd -> {
            List<List<Tensor>> all = List.of(tensors(70_001, 5), tensors(4), tensors(33, 2));
            List<PreparedAllreduce> buckets = new ArrayList<>();
            for (int i = 0; i < all.size(); i++) {
                buckets.add(hvd.prepareAllreduce(names("buckets." + i, all.get(i)), all.get(i), SUM));
            }
            for (int step = 0; step < STEPS; step++) {
                for (int i = 0; i < all.size(); i++) {
                    fill(hvd, all.get(i), step);
                    buckets.get(i).start();
                }
                for (int i = 0; i < all.size(); i++) {
                    buckets.get(i).await();
                    requireSums(hvd, all.get(i), step);
                }
            }
            return null;
        });
    }

    @Test
    void optionsCountAsForOtherAllreduces() throws Exception {
        onAll(hvd -> {
            Tensor tensor = Tensor.of(0f, 0f);
            AllreduceOptions options =
                    AllreduceOptions.average().withPrescale(4).withCompression(Compression.FP16);
            PreparedAllreduce mean = hvd.prepareAllreduce(List.of("options"), List.of(tensor), options);
            for (int step = 0; step < 3; step++) {
                tensor.copyFrom(Tensor.of(2f * hvd.rank(), -1f));
                mean.start();
                mean.await();
                assertThat(tensor.toFloatArray()).containsExactly(new float[] {4f * (hvd.size() - 1), -4f}, ROUNDED);
            }
            return null;
        });
    }

    @Test
    void itIsNotStartedTwiceAndGoesOnAfterwards() throws Exception {
        onAllOf(2, hvd -> {
            Tensor tensor = Tensor.of(1f);
            PreparedAllreduce twice = hvd.prepareAllreduce(List.of("twice"), List.of(tensor), SUM);
            if (hvd.rank() == 0) {
                twice.start();
                assertThatThrownBy(twice::start)
                        .isInstanceOf(DuplicateNameException.class)
                        .hasMessageContainingAll("twice", "await");
                assertThatThrownBy(() -> hvd.allreduceAsync("twice", Tensor.of(1f), SUM))
                        .isInstanceOf(DuplicateNameException.class);
                hvd.barrier();
            } else {
                hvd.barrier();
                twice.start();
            }
            twice.await();
            assertThat(tensor.item()).isEqualTo(hvd.size());
            twice.start();
            twice.await();
            assertThat(tensor.item()).isEqualTo(hvd.size() * hvd.size());
            return null;
        });
    }

    @Test
    void theSameOneTwiceInAListStartsNothingAndBreaksNothing() throws Exception {
        onAll(hvd -> {
            Tensor tensor = Tensor.of(1f);
            PreparedAllreduce same = hvd.prepareAllreduce(List.of("listed"), List.of(tensor), SUM);
            PreparedAllreduce other = hvd.prepareAllreduce(List.of("beside"), List.of(Tensor.of(1f)), SUM);
            assertThatThrownBy(() -> PreparedAllreduce.startAll(List.of(other, same, same)))
                    .isInstanceOf(DuplicateNameException.class)
                    .hasMessageContaining("listed");
            assertThat(same.isDone()).isTrue();
            assertThat(same.bytesDone()).isZero();
            PreparedAllreduce.startAll(List.of(other, same));
            other.await();
            same.await();
            assertThat(tensor.item()).isEqualTo(hvd.size());
            return null;
        });
    }

    @Test
    void severalThreadsMayWaitForOneStart() throws Exception {
        onAllOf(2, hvd -> {
            Tensor tensor = Tensor.of(1f);
            PreparedAllreduce awaited = hvd.prepareAllreduce(List.of("awaited"), List.of(tensor), SUM);
            for (int step = 0; step < 20; step++) {
                if (hvd.rank() == 0) {
                    awaited.start();
                }
                List<CompletableFuture<Void>> waiting = new ArrayList<>();
                for (int i = 0; hvd.rank() == 0 && i < 3; i++) {
                    waiting.add(CompletableFuture.runAsync(awaited::await, task -> new Thread(task).start()));
                }
                if (hvd.rank() != 0) {
                    awaited.start();
                    awaited.await();
                }
                waiting.forEach(CompletableFuture::join);
            }
            return null;
        });
    }

    @Test
    void aNameInUseStartsNothingOfIt() throws Exception {
        onAllOf(2, hvd -> {
            List<Tensor> tensors = List.of(Tensor.of(1f), Tensor.of(1f));
            PreparedAllreduce both = hvd.prepareAllreduce(List.of("free", "taken"), tensors, SUM);
            if (hvd.rank() == 0) {
                Handle taken = hvd.allreduceAsync("taken", Tensor.of(5f), SUM);
                assertThatThrownBy(both::start)
                        .isInstanceOf(DuplicateNameException.class)
                        .hasMessageContaining("\"taken\"");
                assertThat(both.isDone()).isTrue();
                hvd.barrier();
                assertThat(taken.synchronize().item()).isEqualTo(hvd.size() + 4);
            } else {
                hvd.barrier();
                assertThat(sum(hvd, "taken", 1f)).isEqualTo(hvd.size() + 4);
            }
            both.start();
            both.await();
            assertThat(tensors).allMatch(tensor -> tensor.item() == hvd.size());
            return null;
        });
    }

    @Test
    void aMismatchFailsOnAllRanksAndTheNextStartSucceeds() throws Exception {
        onAllOf(2, hvd -> {
            boolean odd = hvd.rank() == hvd.size() - 1;
            Tensor good = Tensor.of(1f, 2f);
            Tensor bad = Tensor.of(1f, 2f, 3f);
            PreparedAllreduce right = hvd.prepareAllreduce(List.of("rows", "same"), List.of(good, Tensor.of(1f)), SUM);
            PreparedAllreduce wrong = hvd.prepareAllreduce(List.of("rows", "same"), List.of(bad, Tensor.of(1f)), SUM);
            for (int round = 0; round < 2; round++) {
                PreparedAllreduce now = odd ? wrong : right;
                now.start();
                assertThatThrownBy(now::await)
                        .isInstanceOf(RankMismatchException.class)
                        .hasMessageContainingAll("\"rows\"", "{" + (hvd.size() - 1) + "}");
                right.start();
                right.await();
            }
            return null;
        });
    }

    @Test
    void aSetOfSomeRanksPreparesForItself() throws Exception {
        onAllOf(3, hvd -> {
            ProcessSet some = hvd.addProcessSet(List.of(0, hvd.size() - 1));
            Tensor tensor = Tensor.of(1f + hvd.rank());
            if (some.included()) {
                PreparedAllreduce prepared = some.prepareAllreduce(List.of("some"), List.of(tensor), SUM);
                prepared.start();
                prepared.await();
                assertThat(tensor.item()).isEqualTo(1 + hvd.size());
                hvd.removeProcessSet(some);
                assertThatThrownBy(prepared::start)
                        .isInstanceOf(HvdException.class)
                        .hasMessageContainingAll("some", "removed");
            } else {
                assertThatThrownBy(() -> some.prepareAllreduce(List.of("some"), List.of(tensor), SUM))
                        .isInstanceOf(HvdException.class)
                        .hasMessageContaining("not in process set");
                hvd.removeProcessSet(some);
            }
            return null;
        });
    }

    @Test
    void whatCannotBePreparedIsRefusedAtOnce() throws Exception {
        onAll(hvd -> {
            Tensor tensor = Tensor.of(1f);
            assertThatThrownBy(() -> hvd.prepareAllreduce(List.of("one", "two"), List.of(tensor), SUM))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("2 names", "1 tensors");
            assertThatThrownBy(() -> hvd.prepareAllreduce(List.of("one", "one"), List.of(tensor, tensor), SUM))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("\"one\"", "twice");
            PreparedAllreduce closed = hvd.prepareAllreduce(List.of("one"), List.of(tensor), SUM);
            closed.close();
            closed.close();
            assertThatThrownBy(closed::start).isInstanceOf(HvdException.class).hasMessageContainingAll("one", "closed");
            requireUsable(hvd, "refusals");
            return null;
        });
    }

    /** Otherwise the names of later calls would not be the same on all ranks. */
    @Test
    void aCallWithoutANameThatIsRefusedTakesNoName() throws Exception {
        onAllOf(2, hvd -> {
            if (hvd.rank() == 1) {
                AllreduceOptions scaled = SUM.withPrescale(0.5);
                assertThatThrownBy(() -> hvd.allreduce(null, Tensor.copyOf(true), scaled))
                        .isInstanceOf(HvdException.class);
                assertThatThrownBy(() -> hvd.reduce(null, Tensor.copyOf(true), scaled, 0))
                        .isInstanceOf(HvdException.class);
            }
            assertThat(hvd.allreduce(null, Tensor.of(1f), SUM).item()).isEqualTo(hvd.size());
            Tensor sum = hvd.reduce(null, Tensor.of(1f), SUM, 0);
            assertThat(sum == null ? hvd.size() : sum.item()).isEqualTo(hvd.size());
            return null;
        });
    }
}
