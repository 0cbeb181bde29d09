package io.hvd.optimizer.torch.graph;

import io.hvd.AllreduceOptions;
import io.hvd.AlltoallResult;
import io.hvd.ProcessSet;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.memory.TorchCopy;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.MemoryFormat;

/** A process set's collectives on LibTorch tensors: every result is a new tensor without a graph. */
public final class PlainCollectives {
    private final ProcessSet set;

    /**
     * The outcome of an alltoall.
     *
     * @param output the pieces received, in rank order, along the first dimension
     * @param receivedSplits number of rows from each rank
     */
    public record Received(Tensor output, int[] receivedSplits) {}

    public PlainCollectives(ProcessSet set) {
        this.set = set;
    }

    public Tensor allreduce(String name, Tensor input, AllreduceOptions options) {
        Tensor output = copyOf(input);
        set.allreduceInPlace(name, alias(name, output), options);
        return output;
    }

    public List<Tensor> groupedAllreduce(String name, List<Tensor> inputs, AllreduceOptions options) {
        List<Tensor> outputs = inputs.stream().map(PlainCollectives::copyOf).toList();
        set.groupedAllreduceInPlace(
                name, outputs.stream().map(output -> alias(name, output)).toList(), options);
        return outputs;
    }

    public Tensor broadcast(String name, Tensor input, int root) {
        Tensor output = copyOf(input);
        set.broadcastInPlace(name, alias(name, output), root);
        return output;
    }

    public Tensor allgather(String name, Tensor input) {
        return like(input, reading(name, input, mine -> set.allgather(name, mine)));
    }

    public List<Tensor> groupedAllgather(String name, List<Tensor> inputs) {
        return like(inputs, reading(name, inputs, mine -> set.groupedAllgather(name, mine)));
    }

    public Tensor reducescatter(String name, Tensor input, AllreduceOptions options) {
        return like(input, reading(name, input, mine -> set.reducescatter(name, mine, options)));
    }

    public List<Tensor> groupedReducescatter(String name, List<Tensor> inputs, AllreduceOptions options) {
        return like(inputs, reading(name, inputs, mine -> set.groupedReducescatter(name, mine, options)));
    }

    public Received alltoall(String name, Tensor input) {
        return received(input, reading(name, input, mine -> set.alltoall(name, mine)));
    }

    public Received alltoall(String name, Tensor input, int[] splits) {
        return received(input, reading(name, input, mine -> set.alltoall(name, mine, splits)));
    }

    /** For each tensor, the row at which this rank's rows begin when the ranks' rows are concatenated. */
    public long[] firstRows(String name, long[] rows) {
        long[] all = (long[]) set.allgather(name, io.hvd.tensor.Tensor.of(rows)).toArray();
        long[] first = new long[rows.length];
        for (int i = 0; i < set.rank() * rows.length; i++) {
            first[i % rows.length] += all[i];
        }
        return first;
    }

    private static <R> R reading(String name, Tensor input, Function<io.hvd.tensor.Tensor, R> collective) {
        return reading(name, List.of(input), all -> collective.apply(all.get(0)));
    }

    /** The scope holds on to the memory until the collective, which waits for the other ranks, is done with it. */
    private static <R> R reading(String name, List<Tensor> inputs, Function<List<io.hvd.tensor.Tensor>, R> collective) {
        try (PointerScope scope = new PointerScope()) {
            return collective.apply(inputs.stream()
                    .map(input -> alias(name, input.detach().contiguous()))
                    .toList());
        }
    }

    private static Received received(Tensor input, AlltoallResult result) {
        return new Received(like(input, result.output()), result.receivedSplits());
    }

    private static List<Tensor> like(List<Tensor> inputs, List<io.hvd.tensor.Tensor> results) {
        List<Tensor> outputs = new ArrayList<>();
        for (int i = 0; i < results.size(); i++) {
            outputs.add(like(inputs.get(i), results.get(i)));
        }
        return outputs;
    }

    /** The result as a LibTorch tensor of the input's kind. */
    private static Tensor like(Tensor input, io.hvd.tensor.Tensor result) {
        Tensor output = torch.empty(result.shape().toArray(), input.options(), new MemoryFormatOptional());
        TorchCopy.copy(result, output);
        return output;
    }

    private static Tensor copyOf(Tensor input) {
        try (Tensor plain = input.detach()) {
            return plain.clone(new MemoryFormatOptional(MemoryFormat.Contiguous));
        }
    }

    private static io.hvd.tensor.Tensor alias(String name, Tensor tensor) {
        return TensorViews.alias(name == null ? "without a name" : name, tensor);
    }
}
