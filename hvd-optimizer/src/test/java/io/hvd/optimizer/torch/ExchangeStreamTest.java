package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.backend.cuda.SimulatedGpu;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** On streams that are threads: who waits for whom, without a device. */
@Timeout(30)
class ExchangeStreamTest {
    @Test
    void theAverageWaitsForTheGradientAndTheStepForTheAverageButBackwardForNeither() throws Exception {
        SimulatedGpu gpu = new SimulatedGpu();
        gpu.enter();
        long compute = gpu.createStream();
        ExchangeStream exchange = new ExchangeStream(gpu.device(), compute);
        List<String> done = new CopyOnWriteArrayList<>();
        CountDownLatch backwardWentOn = new CountDownLatch(1);

        gpu.enqueue(compute, () -> done.add("gradient"));
        exchange.take();
        gpu.enqueue(exchange.handle(), () -> {
            await(backwardWentOn);
            done.add("average");
        });
        gpu.enqueue(compute, () -> {
            done.add("rest of backward");
            backwardWentOn.countDown();
        });
        backwardWentOn.await();
        exchange.giveBack();
        gpu.enqueue(compute, () -> done.add("step"));
        gpu.awaitStream(compute);

        assertThat(done).containsExactly("gradient", "rest of backward", "average", "step");
        assertThat(gpu.failure()).isNull();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
