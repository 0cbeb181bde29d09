package io.hvd.examples.training;

import io.hvd.HvdContext;
import io.hvd.optimizer.torch.DataParallel;
import io.hvd.optimizer.torch.DataParallelStats;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.Tensor;
import io.hvd.train.Memory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.apache.commons.cli.ParseException;
import org.bytedeco.pytorch.Module;

/**
 * The model of a rank: one module with ddp, or one on each of the rank's devices with dp, the first of which is the model.
 *
 * @param <M> the module's class
 */
public final class SpreadModel<M extends Module> implements AutoCloseable {
    private static final double MIB = 1 << 20;

    private final HvdContext hvd;
    private final M module;
    private final Optional<DataParallel<M>> parallel;
    private long largestInput;
    private long largestOutput;
    private DataParallelStats largest;

    private SpreadModel(HvdContext hvd, M module, Optional<DataParallel<M>> parallel) {
        this.hvd = hvd;
        this.module = module;
        this.parallel = parallel;
    }

    /**
     * Makes the model; all replicas begin with the weights of the seed.
     *
     * @throws ParseException if dp is to run on several ranks
     */
    public static <M extends Module> SpreadModel<M> of(
            HvdContext hvd, ParallelMode mode, TorchDevice device, long seed, Supplier<M> net) throws ParseException {
        mode.requireRanks(hvd);
        if (!mode.isDataParallel()) {
            return new SpreadModel<>(hvd, device.onto(SeededModule.seeded(seed, net)), Optional.empty());
        }
        DataParallel<M> parallel = DataParallel.wrap(
                () -> SeededModule.seeded(seed, net), mode.list(!device.device().is_cpu()));
        return new SpreadModel<>(hvd, parallel.module(), Optional.of(parallel));
    }

    /** The module to train, save and evaluate. */
    public M module() {
        return module;
    }

    /** Every device's module. */
    public List<M> replicas() {
        return parallel.map(DataParallel::replicas).orElse(List.of(module));
    }

    /** @param forward such as {@code Net::forward} */
    public org.bytedeco.pytorch.Tensor forward(
            BiFunction<? super M, org.bytedeco.pytorch.Tensor, org.bytedeco.pytorch.Tensor> forward,
            org.bytedeco.pytorch.Tensor batch) {
        org.bytedeco.pytorch.Tensor output =
                parallel.isPresent() ? parallel.get().forward(forward, batch) : forward.apply(module, batch);
        if (batch.nbytes() > largestInput) {
            largestInput = batch.nbytes();
            largestOutput = output.nbytes();
            largest = parallel.map(DataParallel::lastForward).orElse(null);
        }
        return output;
    }

    /**
     * Says what each device holds while a step runs, beside the activations, of which each has those of its samples; and the most
     * memory that each process has had. Every rank calls it.
     *
     * @param optimizerBytes what the optimizer keeps for the parameters of a model
     */
    public List<String> memory(long optimizerBytes) {
        List<String> lines = new ArrayList<>();
        long[] mine = {stateBytes(), bytesOfParameters(module), Memory.peakMebibytes(), largestInput, largestOutput};
        long[] all = (long[]) hvd.allgather("model.memory", Tensor.of(mine)).toArray();
        for (int rank = 0; rank < hvd.size(); rank++) {
            int at = rank * mine.length;
            long gradients = all[at + 1];
            String process = String.format(Locale.ROOT, "process of rank %d: %d MiB at most", rank, all[at + 2]);
            if (parallel.isEmpty()) {
                lines.add(held("rank " + rank, all[at], gradients, optimizerBytes, all[at + 3], all[at + 4], 0) + "; "
                        + process);
            } else {
                lines.addAll(ofDevices(gradients, optimizerBytes));
                lines.add("memory: " + process);
            }
        }
        parallel.map(DataParallel::lastForward).ifPresent(last -> lines.add("last forward: " + last));
        return lines;
    }

    /** The first device has the whole batch, what it gathers, gradients and optimizer; the others have copies of the weights. */
    private List<String> ofDevices(long gradients, long optimizerBytes) {
        List<String> lines = new ArrayList<>();
        for (DataParallelStats.Share share : largest == null ? List.<DataParallelStats.Share>of() : largest.shares()) {
            boolean first = lines.isEmpty();
            lines.add(held(
                    "device " + lines.size() + " (" + share.device() + ")",
                    share.stateBytes(),
                    first ? gradients : 0,
                    first ? optimizerBytes : 0,
                    first ? largestInput : share.inputBytes(),
                    share.outputBytes(),
                    first ? largest.gatheredBytes() : 0));
        }
        return lines;
    }

    private static String held(
            String owner, long weights, long gradients, long optimizer, long batch, long outputs, long gathered) {
        return String.format(
                Locale.ROOT,
                "memory of %s: %.2f MiB of weights, gradients, optimizer, batch, outputs and gathered outputs"
                        + " (%.2f + %.2f + %.2f + %.2f + %.3f + %.3f)",
                owner,
                (weights + gradients + optimizer + batch + outputs + gathered) / MIB,
                weights / MIB,
                gradients / MIB,
                optimizer / MIB,
                batch / MIB,
                outputs / MIB,
                gathered / MIB);
    }

    private long stateBytes() {
        return bytes(TorchTensors.state(module).values());
    }

    /** The size of the parameters, which is that of their gradients. */
    public static long bytesOfParameters(Module module) {
        return bytes(TorchTensors.parameters(module).values());
    }

    private static long bytes(Iterable<Tensor> tensors) {
        long bytes = 0;
        for (Tensor tensor : tensors) {
            bytes += tensor.elements() * tensor.dtype().bytes();
        }
        return bytes;
    }

    @Override
    public void close() {
        parallel.ifPresent(DataParallel::close);
    }
}
