package io.hvd.optimizer.torch;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.graph.AdjointHook;
import io.hvd.optimizer.torch.graph.PlainCollectives;
import io.hvd.tensor.ReduceOp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Collectives in the middle of a LibTorch model: they take and return LibTorch tensors, and backward goes
 * through them, by a collective that is called like the forward's with {@code .grad} appended. An input that
 * needs a gradient gets it also at second order ({@code create_graph}).
 *
 * <p>Backward waits for the other ranks as forward does. Each of them must therefore run backward through the same
 * collectives: their inputs need a gradient on all ranks or on none, and every rank's loss depends on
 * every output. A rank that has no use for one adds {@code output.sum().mul(new Scalar(0))} to its loss; an
 * output of a group that is not used counts as zeros by itself. Otherwise the others wait until the stall check
 * names that rank and ends the job. LibTorch visits the operations of one thread last made, first visited, whatever
 * the graph, so ranks that call forward in the same order agree in backward too.
 *
 * <p>The gradients are those that Horovod's users know. With n ranks whose losses are l<sub>0</sub> to
 * l<sub>n-1</sub> they are, from first principles, those of
 * <pre>
 *   allreduce, alltoall        the sum of the losses
 *   allgather, broadcast       the mean of the losses: an average allreduce takes them back
 *   reducescatter              n times their sum: allgather alone would be right for SUM, and 1/n of it for AVERAGE
 * </pre>
 * Factors and the division by n of an average are part of what is differentiated in allreduce; in
 * reducescatter only the factors are. (Horovod 0.28.1, torch binding: the autograd functions of {@code mpi_ops} and
 * the tests whose names end in {@code _grad}.)
 *
 * <p>Any thread may use it; it holds nothing but the process set. What the ranks must say alike, and what is
 * thrown when they do not, stands at {@link ProcessSet}; a failure during backward leaves {@link
 * TorchOptimizer#backward} as itself, and LibTorch's own {@code backward()} as a RuntimeException with the same text.
 */
public final class TorchCollectives {
    private final ProcessSet set;
    private final PlainCollectives plain;

    /** @param set all ranks ({@code HvdContext}) or some */
    public TorchCollectives(ProcessSet set) {
        this.set = Objects.requireNonNull(set, "process set");
        this.plain = new PlainCollectives(set);
    }

    /**
     * The rows that an alltoall brings to a rank.
     *
     * @param output the pieces received, in rank order, along the first dimension
     * @param receivedSplits number of rows from each rank
     */
    public record Received(Tensor output, int[] receivedSplits) {}

    /** The average over the ranks. */
    public Tensor allreduce(String name, Tensor input) {
        return allreduce(name, input, AllreduceOptions.average());
    }

    /**
     * Gradient: the same allreduce.
     *
     * @param options AVERAGE or SUM
     */
    public Tensor allreduce(String name, Tensor input, AllreduceOptions options) {
        requireLinear(name, options);
        Tensor output = plain.allreduce(name, input, options);
        return connected(input, output, gradient -> allreduce(backward(name), gradient, options));
    }

    /** Gradient: the same allreduce of the group. */
    public List<Tensor> groupedAllreduce(String name, List<Tensor> inputs, AllreduceOptions options) {
        requireLinear(name, options);
        List<Tensor> outputs = plain.groupedAllreduce(name, inputs, options);
        AdjointHook.connect(inputs, outputs, gradients -> groupedAllreduce(backward(name), gradients, options));
        return outputs;
    }

    /** Concatenates the ranks' rows. Gradient: this rank's rows of the average over the ranks. */
    public Tensor allgather(String name, Tensor input) {
        return allgather(name, input, ReduceOp.AVERAGE);
    }

    /**
     * Concatenates the ranks' rows. Gradient: this rank's rows of the sum or the average over the ranks.
     *
     * @param gradients SUM for a loss in which other ranks' rows are as much as this rank's own, such as a contrastive loss, whose
     *     parameters' gradients are averaged afterwards; it is torch's {@code distributed.nn.functional.all_gather}. AVERAGE is Horovod's
     */
    public Tensor allgather(String name, Tensor input, ReduceOp gradients) {
        AllreduceOptions back = AllreduceOptions.of(gradients);
        requireLinear(name, back);
        Tensor output = plain.allgather(name, input);
        long[] rows = {input.size(0)};
        return connected(input, output, gradient -> {
            Tensor reduced = allreduce(backward(name), gradient, back);
            return ownRows(name, List.of(reduced), rows).get(0);
        });
    }

    /** Gradient: this rank's rows of the averages over the ranks. */
    public List<Tensor> groupedAllgather(String name, List<Tensor> inputs) {
        List<Tensor> outputs = plain.groupedAllgather(name, inputs);
        long[] rows = inputs.stream().mapToLong(input -> input.size(0)).toArray();
        AdjointHook.connect(inputs, outputs, gradients -> {
            List<Tensor> averages = groupedAllreduce(backward(name), gradients, AllreduceOptions.average());
            return ownRows(name, averages, rows);
        });
        return outputs;
    }

    /**
     * The root's tensor. Gradient: the average over the ranks on the root, zeros elsewhere.
     *
     * @param root global rank, also in a process set
     */
    public Tensor broadcast(String name, Tensor input, int root) {
        Tensor output = plain.broadcast(name, input, root);
        boolean isRoot = set.ranks().get(set.rank()) == root;
        return connected(input, output, gradient -> {
            Tensor average = allreduce(backward(name), gradient);
            // Zeroed rather than multiplied by 0, which would leave NaN where the average is not finite.
            return isRoot ? average : average.zero_();
        });
    }

    /** Gives every rank an equal part of the rows. Gradient: the way back. */
    public Tensor alltoall(String name, Tensor input) {
        Tensor output = plain.alltoall(name, input).output();
        return connected(input, output, gradient -> alltoall(backward(name), gradient));
    }

    /**
     * Gives every rank a part of the rows. Gradient: the way back; rows that no rank got have a gradient of 0.
     *
     * @param splits number of rows for each rank
     */
    public Received alltoall(String name, Tensor input, int... splits) {
        PlainCollectives.Received received = plain.alltoall(name, input, splits);
        int[] back = received.receivedSplits();
        long unsent = input.size(0) - Arrays.stream(splits).asLongStream().sum();
        connected(
                input,
                received.output(),
                gradient ->
                        withZeroRows(alltoall(backward(name), gradient, back).output(), unsent));
        return new Received(received.output(), back);
    }

    /**
     * Reduces and leaves this rank its share of the rows. Gradient: the ranks' gradients concatenated; for SUM
     * times the number of ranks; times the factors.
     *
     * @param options AVERAGE or SUM
     */
    public Tensor reducescatter(String name, Tensor input, AllreduceOptions options) {
        Tensor output = plain.reducescatter(name, input, options);
        return connected(input, output, gradient -> scaled(allgather(backward(name), gradient), options));
    }

    /** Gradient: as of each member's {@link #reducescatter}. */
    public List<Tensor> groupedReducescatter(String name, List<Tensor> inputs, AllreduceOptions options) {
        List<Tensor> outputs = plain.groupedReducescatter(name, inputs, options);
        AdjointHook.connect(
                inputs,
                outputs,
                gradients -> groupedAllgather(backward(name), gradients).stream()
                        .map(gradient -> scaled(gradient, options))
                        .toList());
        return outputs;
    }

    private static Tensor connected(Tensor input, Tensor output, UnaryOperator<Tensor> adjoint) {
        AdjointHook.connect(List.of(input), List.of(output), gradients -> List.of(adjoint.apply(gradients.get(0))));
        return output;
    }

    /** Without a name the operations are counted, and backward's order is the same on all ranks. */
    private static String backward(String name) {
        return name == null ? null : name + ".grad";
    }

    /** Copies of this rank's rows, so that the others' can be freed. */
    private List<Tensor> ownRows(String name, List<Tensor> all, long[] rows) {
        long[] first = plain.firstRows(name == null ? null : name + ".grad.rows", rows);
        List<Tensor> own = new ArrayList<>();
        for (int i = 0; i < rows.length; i++) {
            own.add(all.get(i).narrow(0, first[i], rows[i]).clone());
        }
        return own;
    }

    private static Tensor withZeroRows(Tensor tensor, long more) {
        if (more == 0) {
            return tensor;
        }
        long[] shape = tensor.sizes().vec().get();
        shape[0] = more;
        return torch.cat(new TensorVector(tensor, tensor.new_zeros(shape)));
    }

    private Tensor scaled(Tensor gradient, AllreduceOptions options) {
        double factor = options.prescale() * options.postscale() * (options.op() == ReduceOp.SUM ? set.size() : 1);
        return factor == 1 ? gradient : gradient.mul(new Scalar(factor));
    }

    private static void requireLinear(String name, AllreduceOptions options) {
        if (options.op() != ReduceOp.SUM && options.op() != ReduceOp.AVERAGE) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "differentiable allreduce" + (name == null ? "" : " of \"" + name + "\"") + ": " + options.op()
                            + " has no gradient here, AVERAGE and SUM have; without a gradient it is"
                            + " ProcessSet.allreduce on TorchTensors.alias(...)");
        }
    }
}
