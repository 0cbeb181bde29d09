package io.hvd.optimizer.torch;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AveragingOptimizer;
import io.hvd.optimizer.torch.shard.Ranks;
import io.hvd.optimizer.torch.shard.ShardPasses;
import io.hvd.optimizer.torch.shard.ShardState;
import io.hvd.optimizer.torch.shard.ShardUnits;
import io.hvd.optimizer.torch.shard.ShardedNorm;
import io.hvd.optimizer.torch.shard.ShardedSteps;
import io.hvd.optimizer.torch.shard.WholeState;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.TensorVector;

/**
 * Trains a LibTorch model of which no rank has the whole: torch's {@code fully_shard} (FSDP). Every rank keeps a shard of the parameters,
 * gradients and optimizer state. A unit, such as a layer, is gathered for its forward and its backward and freed after each; its gradients
 * are averaged and cut by a reducescatter.
 *
 * <pre>{@code
 * FullyShard shard = FullyShard.over(hvd, FullyShardOptions.zero3());
 * for (int i = 0; i < blocks.length; i++) {
 *     blocks[i] = new Block();                      // made one after the other, so that never all of them are whole
 *     shard.unit("block." + i, blocks[i]);
 * }
 * shard.root(model);                                // what is in no unit; gathered for all of forward and backward
 * var optimizer = shard.optimizer(shards -> new AdamW(shards, new AdamWOptions(0.001)));
 *
 * optimizer.zeroGradients();
 * Tensor y = shard.forward(() -> model.forward(x)); // which calls shard.forward("block." + i, blocks[i]::forward, h)
 * shard.backward(loss(y));
 * shard.clipGradNorm(1);
 * optimizer.step();
 * }</pre>
 *
 * <p>The parameters of a module are there within {@link #forward} of its unit, and while backward goes through it; at other times LibTorch
 * throws if an element is touched. All ranks call the same units in the same order, run backward through all of them, and begin with the
 * parameters and buffers of the first rank. Each pass averages the gradients over the ranks, as a DistributedOptimizer with AVERAGE; several
 * passes before a step add up.
 *
 * <p>The optimizer steps each unit's shard as one vector, so it must treat every element alike, as SGD, Adam, AdamW, RMSprop and Adagrad do. A
 * parameter without a gradient counts as one with zeros. No DistributedOptimizer goes around it, no AmpOptimizer, no MasterWeights, and
 * no BroadcastState is needed. Not for elastic jobs, joins, sparse gradients and {@code create_graph}. All collectives are of one process set.
 * Ranks that are threads of one JVM must not share a GPU: LibTorch has one thread for backward per device and process, in which one rank
 * would wait for the other.
 *
 * <p>{@code Checkpoints} and {@code AutoResume} take the optimizer, with {@code everyRankWrites()} and without {@code model(...)}: each rank
 * writes its shards, and any number of ranks goes on, each of which keeps the elements that it needs of the tensors that it reads.
 *
 * <p>(S. Rajbhandari et al., "ZeRO", SC 2020, the second and third stage; Y. Zhao et al., "PyTorch FSDP", VLDB 2023.) It has not been run on a
 * GPU.
 */
public final class FullyShard implements AutoCloseable {
    private final Ranks ranks;
    private final FullyShardOptions options;
    private final ShardPasses passes;
    private final ShardUnits units;
    private final ShardedNorm norm;
    /** Null before {@link #optimizer}. */
    private ShardedSteps steps;

    private FullyShard(ProcessSet set, FullyShardOptions options) {
        this.ranks = Ranks.of(set);
        this.options = options;
        this.passes = new ShardPasses(ranks, options.reshardAfterForward(), options.prefetch());
        this.units = new ShardUnits(ranks, passes, options.computeType());
        this.norm = new ShardedNorm(
                passes, ranks, options.refuseNonFinite() || set.forOptimizers().refusesNonFinite());
    }

    /**
     * Makes one without units.
     *
     * @param set the ranks that share the model; all of them make it
     */
    public static FullyShard over(ProcessSet set, FullyShardOptions options) {
        Objects.requireNonNull(options, "options");
        TorchRuntime.prepare();
        set.requireSame(options.settings());
        return new FullyShard(set, options);
    }

    /**
     * Shares out the parameters of a module at once; from here on this rank has its shard of them. A collective.
     *
     * @param name also the beginning of its parameters' names in states, so best its path in the model
     * @throws HvdException if the ranks' units differ, a parameter is in another unit, or its types or devices differ
     */
    public FullyShard unit(String name, Module module) {
        requireNoOptimizer("unit(\"" + name + "\", ...)");
        units.add(name, module);
        return this;
    }

    /** Shares out the parameters of a model that are in no unit, and so far as it has any; they are gathered within {@link #forward(Supplier)}. */
    public FullyShard root(Module model) {
        requireNoOptimizer("root(...)");
        units.addRoot(model);
        return this;
    }

    private void requireNoOptimizer(String call) {
        if (steps != null) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    call + " after optimizer(...), which would not step it: name all units before");
        }
    }

    /**
     * Makes the optimizer, once all units are named.
     *
     * @param make called for each unit with its shard, a vector, such as {@code shards -> new AdamW(shards, options)}
     * @throws HvdException if there is nothing to train, or the optimizer needs whole layers or several losses, as LARS, LAMB and LBFGS
     */
    public AveragingOptimizer optimizer(Function<TensorVector, Optimizer> make) {
        requireNoOptimizer("optimizer(...)");
        steps = new ShardedSteps(passes, ranks, norm, shards -> elementwise(make.apply(shards)));
        return steps;
    }

    private static Optimizer elementwise(Optimizer made) {
        if (made instanceof TorchLars || made instanceof TorchLamb) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    made.getClass().getSimpleName()
                            + " in FullyShard.optimizer(...) needs the norms of whole layers, and"
                            + " has a part of a unit as one vector: expected SGD, Adam, AdamW, RMSprop or Adagrad");
        }
        return TorchOptimizer.prepared(made);
    }

    /**
     * Runs a unit's forward with its parameters gathered. A collective where they are not yet. It may run without a graph, for an evaluation.
     *
     * @param body may read tensors besides the input; what it returns must be computed from them
     * @throws HvdException if there is no such unit, {@code requires_grad} of one of its parameters was changed since {@link #unit}, the body
     *     returns a parameter, or this FullyShard is closed
     */
    public org.bytedeco.pytorch.Tensor forward(
            String unit, UnaryOperator<org.bytedeco.pytorch.Tensor> body, org.bytedeco.pytorch.Tensor input) {
        return forward(unit, () -> body.apply(input));
    }

    /** As {@link #forward(String, UnaryOperator, org.bytedeco.pytorch.Tensor)}, with inputs of any number. */
    public org.bytedeco.pytorch.Tensor forward(String unit, Supplier<org.bytedeco.pytorch.Tensor> body) {
        return passes.forward(passes.unit(unit), () -> List.of(body.get())).get(0);
    }

    /** As {@link #forward(String, Supplier)}, for a unit that returns several tensors. */
    public List<org.bytedeco.pytorch.Tensor> forwardAll(String unit, Supplier<List<org.bytedeco.pytorch.Tensor>> body) {
        return passes.forward(passes.unit(unit), body);
    }

    /** Runs the model's forward with the parameters of {@link #root} gathered. */
    public org.bytedeco.pytorch.Tensor forward(Supplier<org.bytedeco.pytorch.Tensor> body) {
        return forward(ShardUnits.ROOT, body);
    }

    /**
     * Runs {@code loss.backward()}. Afterwards this rank has its shards of the gradients' averages, added to those of earlier passes.
     *
     * @throws HvdException what a collective has thrown in the middle of backward, as itself; some gradients may have been added then, so call
     *     {@code zeroGradients()} before you go on
     */
    public void backward(org.bytedeco.pytorch.Tensor loss) {
        passes.backward(() -> TorchOptimizer.backward(loss));
    }

    /**
     * A collective: scales the gradients down if the norm of all of them is larger, as torch's {@code clip_grad_norm_}.
     *
     * @param max above 0
     * @return the norm before
     * @throws HvdException on all ranks if it is not finite
     */
    public double clipGradNorm(double max) {
        if (!(max > 0)) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "clipGradNorm(" + max + "): expected a number above 0");
        }
        return norm.clip(max);
    }

    /**
     * The whole model's parameters and buffers by name, as {@link StateDict#of} has them, for a file that any program reads. A
     * collective that gathers unit by unit.
     *
     * @param root global rank
     * @return copies in the root's host memory; on other ranks it is empty
     */
    public SortedMap<String, Tensor> stateDict(int root) {
        return new WholeState(open(), ranks).gather(root);
    }

    /**
     * Gives the model the values of a whole state. A collective.
     *
     * @param state read on the root only; it may be null elsewhere
     * @param root global rank
     * @throws HvdException on all ranks if a name is missing or too many, or a type or shape differs; nothing is changed then
     */
    public void loadStateDict(Map<String, Tensor> state, int root) {
        open().stepBegins();
        new WholeState(passes, ranks).scatter(state, root);
    }

    /**
     * This rank's shards of the parameters and, with an optimizer, of its moments: copies in the host's memory, for a file of this rank. Other numbers
     * of ranks can load them. A unit's entries are called like {@code block.3.flat_param} (its shard; {@code .frozen_flat_param} of what is frozen),
     * {@code block.3.flat_param.layout} (int64: ranks, rank, elements, a number for the layout) and {@code block.3.flat_param.moment.exp_avg}; the
     * root's have no prefix. {@code buffer.NAME} are this rank's buffers, {@code learning_rate} is the optimizer's. {@code Checkpoints} with {@code
     * everyRankWrites()} write the same, and need no call of this.
     */
    public SortedMap<String, Tensor> shards() {
        return new ShardState(open(), ranks, steps).save();
    }

    /**
     * Takes this rank's shards from those that any number of ranks have saved. Optimizer state is taken over if there is an optimizer.
     *
     * @param before how many ranks have saved
     * @param ofRank gives what {@link #shards} was on a rank; called for those only of which this rank needs a part
     * @throws HvdException if they are another model's or optimizer's, or of different steps, or {@code before} is below 1; no parameter is
     *     changed then
     */
    public void loadShards(int before, IntFunction<? extends Map<String, Tensor>> ofRank) {
        new ShardState(open(), ranks, steps).load(before, ofRank);
    }

    private ShardPasses open() {
        passes.requireOpen();
        return passes;
    }

    /** Bytes of gathered parameters and of gradients that this rank holds at the moment, beside its shards. */
    public long gatheredBytes() {
        return passes.bytesPresent();
    }

    /** The most that {@link #gatheredBytes} has been. */
    public long mostGatheredBytes() {
        return passes.mostBytes();
    }

    /** The number of units, the ranks and the options. It asks no other rank. */
    @Override
    public String toString() {
        return "FullyShard(" + passes.units().size() + " unit(s) over " + ranks.size() + " rank(s), " + options + ")";
    }

    /** Frees the shards. The modules' parameters have no elements any more. */
    @Override
    public void close() {
        if (passes.isOpen() && steps != null) {
            steps.close();
        }
        passes.close();
    }
}
