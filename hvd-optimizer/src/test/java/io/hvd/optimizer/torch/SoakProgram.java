package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.manual_seed;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;

/**
 * Trains a small net and averages tensors of all sizes, in turn, for as long as it is told; rank 0
 * prints every so often how much memory each rank holds.
 */
final class SoakProgram {
    private static final int REPORTS = 30;
    private static final int LARGEST = 1 << 20;

    private SoakProgram() {}

    /** @param args how many seconds */
    public static void main(String[] args) throws IOException {
        long seconds = Long.parseLong(args[0]);
        try (HvdContext hvd = Hvd.init()) {
            new SoakProgram().run(hvd, Duration.ofSeconds(seconds));
        }
    }

    private void run(HvdContext hvd, Duration duration) throws IOException {
        RandomImages images = new RandomImages(hvd.size(), hvd.rank());
        manual_seed(1);
        SmallConvNet net = new SmallConvNet();
        SGD sgd = new SGD(net.parameters(), new SGDOptions(0.01));
        var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(sgd, net.named_parameters()))
                .build();
        optimizer.broadcastParameters(0);
        Random sizes = new Random(7); // every rank draws alike
        long start = System.nanoTime();
        long rounds = 0;
        for (int report = 0; report < REPORTS; report++) {
            long until = duration.toNanos() * (report + 1) / REPORTS;
            // One rank's clock decides, or the ranks would stop at different rounds.
            while (hvd.broadcast("soak.clock", Tensor.of(System.nanoTime() - start), 0)
                            .item()
                    < until) {
                for (int i = 0; i < 20; i++) {
                    train(optimizer, net, images, (int) (rounds++ % RandomImages.STEPS));
                }
                average(hvd, sizes.nextInt(LARGEST));
            }
            print(hvd, report, rounds);
        }
    }

    private static void train(DistributedOptimizer optimizer, SmallConvNet net, RandomImages images, int step) {
        try (PointerScope scope = new PointerScope()) {
            optimizer.zeroGradients();
            images.loss(net, step).backward();
            optimizer.step();
        }
    }

    private static void average(HvdContext hvd, int size) {
        float[] values = new float[size];
        java.util.Arrays.fill(values, hvd.rank());
        Tensor sum = hvd.allreduce("soak.sum", Tensor.of(values), AllreduceOptions.sum());
        float expected = hvd.size() * (hvd.size() - 1) / 2f;
        if (size > 0 && sum.toFloatArray()[size - 1] != expected) {
            throw new AssertionError("a sum of " + size + " elements ends with the wrong value");
        }
        hvd.allgather("soak.rows", Tensor.of(new float[hvd.rank() + size % 100]))
                .toArray();
    }

    private static void print(HvdContext hvd, int report, long rounds) throws IOException {
        long[] kilobytes = (long[])
                hvd.allgather("soak.memory", Tensor.of(residentKilobytes())).toArray();
        if (hvd.rank() == 0) {
            StringBuilder line = new StringBuilder("SOAK report=" + report + " steps=" + rounds + " resident_kb=");
            for (long each : kilobytes) {
                line.append(each).append(',');
            }
            System.out.println(line);
        }
    }

    private static long residentKilobytes() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                .findFirst()
                .orElseThrow();
    }
}
