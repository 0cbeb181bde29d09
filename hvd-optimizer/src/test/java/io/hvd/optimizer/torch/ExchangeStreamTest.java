package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.cuda.SimulatedGpu;
import io.hvd.optimizer.torch.gradient.ExchangeStream;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
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

    /**
     * With an average that is only queued when synchronize() returns: clipping, and the next backward after a step that was
     * left out or a state that was loaded, must not meet it.
     */
    @Test
    void whatTheProgramQueuesAfterTheAveragesWaitsForThemWithoutAStep() {
        Map<String, Consumer<TorchOptimizer>> ways = Map.of(
                "adopt", TorchOptimizer::adopt,
                "zero", TorchOptimizer::zeroGradients,
                "load", optimizer -> optimizer.loadState(optimizer.saveState()));
        ways.forEach((name, way) -> {
            SimulatedGpu gpu = new SimulatedGpu();
            gpu.enter();
            long compute = gpu.createStream();
            ExchangeStream exchange = new ExchangeStream(gpu.device(), compute);
            List<String> done = new CopyOnWriteArrayList<>();
            Models.Net net = new Models.Net(1);
            TorchOptimizer optimizer = new TorchOptimizer(
                    new SGD(net.parameters(), new SGDOptions(1)), net.named_parameters(), false, value -> exchange);

            for (int i = 0; i < 50; i++) {
                gpu.enqueue(exchange.handle(), () -> {});
            }
            gpu.enqueue(exchange.handle(), () -> done.add("average"));
            way.accept(optimizer);
            gpu.enqueue(compute, () -> done.add("clip"));
            gpu.awaitStream(compute);

            assertThat(done).as(name).containsExactly("average", "clip");
        });
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
