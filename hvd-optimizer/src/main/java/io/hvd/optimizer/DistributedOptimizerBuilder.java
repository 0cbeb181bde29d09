package io.hvd.optimizer;

import io.hvd.Compression;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.exchange.LocalParameters;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.optimizer.step.OptimizerCheck;
import io.hvd.optimizer.step.OptimizerChoices;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Settings of a {@link DistributedOptimizer}. All ranks must choose the same settings.
 *
 * <pre>{@code
 * DistributedOptimizer optimizer = DistributedOptimizer.wrap(inner)
 *         .compression(Compression.BF16)
 *         .backwardPassesPerStep(4)
 *         .localReduction(LocalReduction.MEAN)
 *         .clipGradientNorm(1)
 *         .build();
 * }</pre>
 */
public final class DistributedOptimizerBuilder {
    private final OptimizerChoices choices;

    DistributedOptimizerBuilder(Optimizer inner) {
        this.choices = new OptimizerChoices(Objects.requireNonNull(inner, "optimizer"));
        requireNotWrapped(inner);
    }

    /** Gradients that are averaged twice are too small, or with SUM too large. */
    private static void requireNotWrapped(Optimizer inner) {
        if (inner instanceof AveragingOptimizer) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "DistributedOptimizer.wrap(...) around " + (inner instanceof AmpOptimizer ? "an " : "a ")
                            + inner.getClass().getSimpleName() + " of "
                            + inner.parameters().size() + " parameters, \""
                            + inner.parameters().get(0).name()
                            + "\" the first, which averages gradients over the ranks already: they would be averaged, or added up,"
                            + " twice. Wrap the optimizer itself, once; an AmpOptimizer goes around the DistributedOptimizer");
        }
    }

    /**
     * Sets the job in which gradients are averaged; the default is the current context. Unless {@link #processSet}
     * names some of its ranks, all of them take part.
     */
    public DistributedOptimizerBuilder context(HvdContext job) {
        choices.context = Objects.requireNonNull(job, "context");
        return this;
    }

    /**
     * Averages over some of the ranks. On the other ranks, {@link DistributedOptimizer#synchronize()} exchanges
     * nothing and {@link DistributedOptimizer#step()} uses the rank's own gradients. It may come before or after
     * {@link #context}, whose set it must then be.
     *
     * <pre>{@code
     * DistributedOptimizer.wrap(inner).processSet(hvd.processSet(1)).build();
     * }</pre>
     */
    public DistributedOptimizerBuilder processSet(ProcessSet ranks) {
        choices.set = Objects.requireNonNull(ranks, "process set");
        return this;
    }

    /**
     * Sets the type in which floating-point gradients travel. It has no effect with one rank.
     *
     * <pre>{@code
     * DistributedOptimizer.wrap(inner).compression(Compression.AUTO).build(); // BF16 if there are several hosts
     * }</pre>
     */
    public DistributedOptimizerBuilder compression(Compression kind) {
        choices.compression = kind;
        return this;
    }

    /**
     * Has gradients that travel as float16 scaled into that format's range; for {@link Compression#FP16} and parameters in the host's memory. The
     * default is not to. It costs two passes over the gradients in every step.
     *
     * <pre>{@code
     * DistributedOptimizer.wrap(inner).compression(Compression.FP16).rangeControl(RangeControl.every(500)).build();
     * }</pre>
     */
    public DistributedOptimizerBuilder rangeControl(RangeControl control) {
        choices.rangeControl = Objects.requireNonNull(control, "range control");
        return this;
    }

    /**
     * Sets the operation that combines gradients, AVERAGE (the default) or SUM; or ADASUM, with which every rank steps by its own
     * gradients, and {@link Adasum} combines how far the parameters have moved. It wants parameters in the host's memory, a
     * number of ranks that is a power of two, and a learning rate that is not multiplied by that number.
     *
     * <pre>{@code
     * DistributedOptimizer.wrap(inner).op(ReduceOp.SUM).build();
     * }</pre>
     */
    public DistributedOptimizerBuilder op(ReduceOp reduceOp) {
        choices.op = reduceOp;
        return this;
    }

    /**
     * Splits the division of an average: gradients are multiplied by 1/factor before the sum and by factor/size
     * after it. A factor equal to size avoids overflow in float16; a factor of 1 avoids underflow.
     */
    public DistributedOptimizerBuilder gradientPredivideFactor(double factor) {
        choices.predivide = factor;
        return this;
    }

    /**
     * Sets the number of backward passes whose gradients this rank combines before they travel; the default is 1.
     *
     * <pre>{@code
     * optimizer.zeroGradients();
     * for (Batch part : fourParts) {
     *     loss(model, part).backward();
     * }
     * optimizer.step();
     * }</pre>
     */
    public DistributedOptimizerBuilder backwardPassesPerStep(int count) {
        OptimizerCheck.requirePasses(count);
        choices.passesPerStep = count;
        return this;
    }

    /** Sets how the gradients of these passes are combined; the default is SUM. */
    public DistributedOptimizerBuilder localReduction(LocalReduction reduction) {
        choices.localReduction = reduction;
        return this;
    }

    /**
     * Averages over the samples of all ranks instead of over the ranks, so that batches of different sizes count alike per
     * sample. Before each backward pass every rank calls {@link DistributedOptimizer#batchSize}; each gradient is that of a
     * mean over these samples. {@link #localReduction} then means nothing: passes count by their samples too.
     *
     * <pre>{@code
     * optimizer.zeroGradients();
     * optimizer.batchSize(batch.size());
     * meanLoss(model, batch).backward();
     * optimizer.step();
     * }</pre>
     */
    public DistributedOptimizerBuilder weightByBatchSize() {
        choices.weighted = true;
        return this;
    }

    /**
     * Sets the size in bytes of a group of gradients. The default is what {@code HVD_BUCKET_BYTES} says, without it a quarter of all
     * gradients, but at most 25 MiB; autotuning may change the default between steps.
     */
    public DistributedOptimizerBuilder bucketBytes(long bytes) {
        choices.bucketBytes = bytes;
        return this;
    }

    /**
     * Divides the parameters, in their order, into so many groups of nearly the same number of parameters; the gradients of a
     * group travel together, when the last of them is ready. The default, 0, leaves it to {@link #bucketBytes}.
     */
    public DistributedOptimizerBuilder numGroups(int count) {
        choices.numGroups = OptimizerCheck.requireGroups(count);
        return this;
    }

    /**
     * Names the parameters whose gradients travel together; those that no group names travel alone.
     *
     * <pre>{@code
     * DistributedOptimizer.wrap(inner).groups(List.of(List.of("fc1.weight", "fc1.bias"))).build();
     * }</pre>
     *
     * @param names of the parameters of each group
     */
    public DistributedOptimizerBuilder groups(List<List<String>> names) {
        choices.groups = names.stream().map(List::copyOf).toList();
        return this;
    }

    /**
     * Says which parameters' gradients travel in their own type, whatever {@link #compression} says, such as {@code
     * parameter -> parameter.value().shape().rank() < 2} for norms and biases.
     */
    public DistributedOptimizerBuilder allreduceAlwaysFp32(Predicate<Parameter> these) {
        choices.alwaysFp32 = Objects.requireNonNull(these, "allreduceAlwaysFp32");
        return this;
    }

    /**
     * Sets what reduces gradients in place of an allreduce, such as {@code new PowerSgd(2)}. It is for gradients in the host's
     * memory and averages, each optimizer needs one of its own, and on one rank it is not called.
     */
    public DistributedOptimizerBuilder reducer(GradientReducer howToReduce) {
        choices.reducer = Objects.requireNonNull(howToReduce, "reducer");
        return this;
    }

    /**
     * Sets a prefix of the gradients' names, which keeps the gradients of several optimizers apart. By default the prefix of
     * a process set's first optimizer is {@code gradient}, and further ones get a number; all ranks build them in one order,
     * which they compare in the first step. Optimizers whose parameters have the same names need a prefix each, unless their first
     * backward comes in one order on all ranks.
     *
     * <pre>{@code
     * var ofGenerator = DistributedOptimizer.wrap(first).scope("generator").build();
     * var ofDiscriminator = DistributedOptimizer.wrap(second).scope("discriminator").build();
     * }</pre>
     */
    public DistributedOptimizerBuilder scope(String prefix) {
        choices.scopeName = Objects.requireNonNull(prefix, "scope");
        return this;
    }

    /**
     * Names parameters that every rank keeps to itself, such as its part of an embedding: their gradients are not averaged,
     * and their values are neither broadcast nor compared. Their names, number and shapes may differ between the ranks. The
     * optimizer's state is each rank's own then, so {@code broadcastOptimizerState} and {@code join} of the optimizer are refused.
     * Their gradients are multiplied by 1/size, this rank's part of the average; see {@link #scaleLocalGradients}.
     *
     * <pre>{@code
     * DistributedOptimizer.wrap(inner).localParameters(List.of("embedding.weight")).build();
     * }</pre>
     */
    public DistributedOptimizerBuilder localParameters(Collection<String> names) {
        choices.local =
                new LocalParameters(Set.copyOf(names), choices.local == LocalParameters.NONE || choices.local.scaled());
        return this;
    }

    /**
     * Sets whether the gradients of {@link #localParameters} are multiplied by this rank's part of the average; the default is that
     * they are. The factor is 1/size with {@link ReduceOp#SUM} too, as in Horovod; say {@code false} there if local gradients are
     * to be as large as the sums.
     */
    public DistributedOptimizerBuilder scaleLocalGradients(boolean scale) {
        choices.local = new LocalParameters(choices.local.names(), scale);
        return this;
    }

    /**
     * Sets the number of steps after which the ranks compare their parameters. If these differ, the step throws on
     * all ranks. The default is {@code HVD_DIVERGENCE_STEPS}; 0 means never.
     */
    public DistributedOptimizerBuilder compareParametersEvery(int steps) {
        if (steps < 0) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "compareParametersEvery(" + steps + "): expected 0 or more");
        }
        choices.compareEvery = steps;
        return this;
    }

    /**
     * Leaves out the comparison of the ranks' {@link Optimizer#settings} in the first step, for ranks that are to
     * train with different learning rates, for instance. Whether {@link #clipGradientNorm} is asked for must be the same all the
     * same, because the ranks exchange the norm.
     */
    public DistributedOptimizerBuilder settingsMayDiffer() {
        choices.settingsMayDiffer = true;
        return this;
    }

    /**
     * Names the model's buffers, which a step changes without a gradient; of a LibTorch module they are {@code
     * TorchTensors.buffers(model)}. The ranks compare them together with the parameters, unless {@link #broadcastBuffers}
     * makes them the same.
     */
    public DistributedOptimizerBuilder buffers(Map<String, Tensor> byName) {
        choices.buffers = Map.copyOf(byName);
        return this;
    }

    /**
     * Sets when and how the {@link #buffers} of all ranks become the same; the default is never. While a rank has joined, a
     * broadcast of buffers fails on all ranks, and so does their mean if a buffer is of integers. When {@code join()} is over, all
     * ranks count their steps from 0, whatever number each has made; the comparison of parameters does so too.
     *
     * <pre>{@code
     * DistributedOptimizer.wrap(inner)
     *         .buffers(TorchTensors.buffers(model))
     *         .broadcastBuffers(BufferSync.everySteps(10))
     *         .build();
     * }</pre>
     */
    public DistributedOptimizerBuilder broadcastBuffers(BufferSync how) {
        choices.bufferSync = Objects.requireNonNull(how, "buffer sync");
        return this;
    }

    /**
     * Scales the averaged gradients down before each step if the norm of all of them together is larger, as torch's {@code
     * clip_grad_norm_}. It takes one allreduce of 48 bytes per step, in which the ranks agree on the norm; of {@link #localParameters} it
     * contains the gradients of all ranks. With ADASUM, which averages none,
     * each rank scales its own. {@link DistributedOptimizer#lastGradientNorm} is the norm before.
     */
    public DistributedOptimizerBuilder clipGradientNorm(double max) {
        choices.clip = choices.clip.withNorm(max);
        return this;
    }

    /**
     * Brings every element of the averaged gradients into the range from -max to max before each step, as torch's {@code
     * clip_grad_value_}; before {@link #clipGradientNorm}, if there are both.
     */
    public DistributedOptimizerBuilder clipGradientValue(double max) {
        choices.clip = choices.clip.withValue(max);
        return this;
    }

    /**
     * Sets whether a step throws on all ranks, before any parameter is changed, if a gradient of any rank is infinite or NaN: the error names
     * the parameter, the ranks it comes from and the step. The default is {@code HVD_REFUSE_NON_FINITE}. It costs a pass over the averaged gradients, and for
     * optimizers on arrays another one before they travel. Beside a loss scale, where such gradients are normal and their step is
     * skipped, it throws only if they are found at a scale of 1 or less.
     *
     * <pre>{@code
     * DistributedOptimizer.wrap(inner).refuseNonFinite(true).build();
     * }</pre>
     */
    public DistributedOptimizerBuilder refuseNonFinite(boolean refuse) {
        choices.refuseNonFinite = refuse;
        return this;
    }

    /**
     * @throws HvdException if parameter names are missing or not distinct, or settings contradict each other, such
     *     as a context and a process set of another one
     */
    public DistributedOptimizer build() {
        return new DistributedOptimizer(choices.copy());
    }
}
