package io.hvd.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.kernel.Converter;
import java.lang.ref.Cleaner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(60)
class ReadWatchTest {
    private static final int MOST_COLLECTIONS = 200;

    private final AtomicReference<Thread> cleaning = new AtomicReference<>();
    private final Cleaner cleaner = Cleaner.create(task -> {
        Thread thread = new Thread(task, "cleaner");
        thread.setDaemon(true);
        cleaning.set(thread);
        return thread;
    });
    private final AtomicInteger reports = new AtomicInteger();

    static Stream<Named<Consumer<Tensor>>> everyWayToTheElements() {
        return Stream.of(
                Named.of("toArray", Tensor::toArray),
                Named.of("toFloatArray", Tensor::toFloatArray),
                Named.of("item", Tensor::item),
                Named.of("memory", Tensor::memory),
                Named.of("hostMemory", Tensor::hostMemory),
                Named.of("source of a copy", tensor -> Tensor.of(0f).copyFrom(tensor)),
                Named.of(
                        "packed into a batch",
                        tensor -> new Converter().pack(tensor, 0, 1, Samples.direct(4), 0, DType.FLOAT32, 1)));
    }

    static Stream<Named<Consumer<Tensor>>> whatSaysNothingOfTheElements() {
        return Stream.of(
                Named.of("nothing", tensor -> {}),
                Named.of("shape", Tensor::shape),
                Named.of("device", Tensor::device),
                Named.of("bytes", Tensor::bytes),
                Named.of("toString", Tensor::toString));
    }

    @ParameterizedTest
    @MethodSource("whatSaysNothingOfTheElements")
    void aTensorThatNobodyReadIsReportedOnce(Consumer<Tensor> use) throws Exception {
        awaitCollectionAfter(use);
        assertThat(reports).hasValue(1);
    }

    @ParameterizedTest
    @MethodSource("everyWayToTheElements")
    void aTensorThatWasReadIsNotReported(Consumer<Tensor> use) throws Exception {
        awaitCollectionAfter(use);
        assertThat(reports).hasValue(0);
    }

    @Test
    void aTensorThatIsStillHeldIsNotReported() throws Exception {
        Tensor held = watched();
        awaitCollectionAfter(Tensor::toArray);
        assertThat(reports).hasValue(0);
        assertThat(held.item()).isEqualTo(1);
    }

    @Test
    void readingCanBeExpectedOnce() {
        Tensor tensor = watched();
        assertThatThrownBy(() -> tensor.expectReading(cleaner::register, () -> {}))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("float32[1]");
        tensor.item();
    }

    private Tensor watched() {
        Tensor tensor = Tensor.of(1f);
        tensor.expectReading(cleaner::register, reports::incrementAndGet);
        return tensor;
    }

    /**
     * Returns when the cleaner has seen the used tensor, then another one, and waits for more: it takes the newest of what it has
     * to do first, so something of the used tensor may be left until then.
     */
    private void awaitCollectionAfter(Consumer<Tensor> use) throws InterruptedException {
        awaitCleaning(used(use));
        awaitCleaning(used(Tensor::toArray));
        while (cleaning.get().getState() == Thread.State.RUNNABLE) {
            Thread.sleep(1);
        }
    }

    /** In a method of its own: the caller's frame must not hold on to the tensor. */
    private CountDownLatch used(Consumer<Tensor> use) {
        CountDownLatch cleaned = new CountDownLatch(1);
        Tensor tensor = watched();
        cleaner.register(tensor, cleaned::countDown);
        use.accept(tensor);
        return cleaned;
    }

    private static void awaitCleaning(CountDownLatch cleaned) throws InterruptedException {
        for (int i = 0; i < MOST_COLLECTIONS; i++) {
            System.gc();
            if (cleaned.await(50, TimeUnit.MILLISECONDS)) {
                return;
            }
        }
        throw new AssertionError("the tensor was not collected in " + MOST_COLLECTIONS + " collections");
    }
}
