package io.hvd.optimizer.torch.shard;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.StateOwner;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * This rank's shards and their moments as tensors with names, which any number of ranks can load:
 * <pre>
 *   layer.3.flat_param               the shard, with the padding at its end
 *   layer.3.flat_param.layout        int64: number of ranks, rank, elements of the flat parameter, a number for its layout
 *   layer.3.flat_param.moment.step   int64
 *   layer.3.flat_param.moment.exp_avg, ...                   as long as the shard
 *   buffer.layer.3.norm.running_mean, ...                    this rank's buffers, whole
 *   learning_rate                    float64
 * </pre>
 */
public final class ShardState {
    private static final String RANKS = "ranks";
    /** The word for the parameters of all flat parameters, with their places. */
    private static final String LAYOUTS = "layout";

    private final ShardPasses passes;
    private final Ranks ranks;
    /** Null if there is no optimizer. */
    private final ShardedSteps steps;

    public ShardState(ShardPasses passes, Ranks ranks, ShardedSteps steps) {
        this.passes = passes;
        this.ranks = ranks;
        this.steps = steps;
    }

    /** Copies in the host's memory. */
    public TreeMap<String, Tensor> save() {
        TreeMap<String, Tensor> copies = new TreeMap<>();
        views().forEach((name, tensor) -> copies.put(name, copy(tensor)));
        return copies;
    }

    private static Tensor copy(Tensor tensor) {
        Tensor copy = HostTensors.empty(tensor.dtype(), tensor.shape());
        copy.copyFrom(tensor);
        return copy;
    }

    /** The tensors, which are the training's own as far as they lie in the host's memory. */
    private TreeMap<String, Tensor> views() {
        TreeMap<String, Tensor> views = new TreeMap<>();
        for (ShardUnit unit : passes.units()) {
            for (FlatParameter flat : unit.flats()) {
                views.put(flat.name(), HostTensors.view(flat.name(), flat.shard()));
                views.put(flat.name() + ShardNames.LAYOUT, Tensor.of(layout(flat, ranks.size(), ranks.rank())));
                moments(flat).forEach((moment, tensor) -> views.put(flat.name() + ShardNames.MOMENT + moment, tensor));
            }
            unit.buffers()
                    .forEach((name, buffer) -> views.put(ShardNames.BUFFER + name, HostTensors.view(name, buffer)));
        }
        if (steps != null) {
            views.put(ShardNames.RATE, Tensor.of(new double[] {steps.learningRate()}));
        }
        return views;
    }

    private SortedMap<String, Tensor> moments(FlatParameter flat) {
        return steps == null ? new TreeMap<>() : steps.moments(flat);
    }

    static long[] layout(FlatParameter flat, int ranks, int rank) {
        return new long[] {ranks, rank, flat.layout().elements(), flat.layout().fingerprint()};
    }

    /** The same by names that no other rank uses, without a copy; the words are those of all ranks. */
    NamedState named() {
        SortedMap<String, String> words = new TreeMap<>();
        StateOwner owner = owner();
        words.put(NamedState.KIND, owner.kind());
        words.put(RANKS, String.valueOf(ranks.size()));
        words.put(LAYOUTS, owner.words().substring(owner.kind().length()).strip());
        return new NamedState(ShardNames.ofRank(ranks.rank(), ranks.size(), views()), words);
    }

    /** The parameters and buffers, line by line. */
    private StateOwner owner() {
        List<String> lines = passes.units().stream()
                .flatMap(unit -> Stream.concat(
                        unit.flats().stream().flatMap(ShardState::lines),
                        unit.buffers().entrySet().stream()
                                .map(buffer -> ShardNames.BUFFER + buffer.getKey() + " "
                                        + TensorViews.typeOf(buffer.getKey(), buffer.getValue())
                                        + TensorViews.shape(buffer.getValue()))))
                .toList();
        return StateOwner.ofLines("FullyShard of " + steps.kind(), lines);
    }

    private static Stream<String> lines(FlatParameter flat) {
        DType type = TensorViews.typeOf(flat.name(), flat.shard());
        return flat.layout().entries().stream()
                .map(entry -> flat.name() + " " + entry.names().stream().collect(Collectors.joining(" ")) + " " + type
                        + entry.shape() + " at " + entry.offset());
    }

    /** Bytes of {@link #named} behind the first steps. */
    long fullBytes() {
        long bytes = Double.BYTES;
        for (ShardUnit unit : passes.units()) {
            for (FlatParameter flat : unit.flats()) {
                bytes += flat.shard().nbytes() + 4L * Long.BYTES + steps.fullMomentBytes(flat);
            }
            bytes += unit.buffers().values().stream()
                    .mapToLong(org.bytedeco.pytorch.Tensor::nbytes)
                    .sum();
        }
        return bytes;
    }

    /** What this rank needs of the shards of any number of ranks. */
    ShardParts parts() {
        return new ShardParts(passes, ranks);
    }

    /**
     * Looks at what {@link ShardParts#needs} says of a checkpoint.
     *
     * @return takes this rank's shards from it
     * @throws HvdException if it is another model's or optimizer's
     */
    Runnable prepareLoad(NamedState state) {
        if (!state.words().containsKey(RANKS)) {
            throw StateOwner.mismatch("it is not of a FullyShard, of which each rank has written its shards, but of "
                    + (state.words().containsKey(NamedState.KIND)
                            ? "\"" + state.word(NamedState.KIND) + "\""
                            : "an optimizer that names no kind")
                    + " with whole parameters");
        }
        owner().requireSame(state.word(NamedState.KIND) + "\n" + state.word(LAYOUTS));
        long before = Math.max(1, Math.min(Integer.MAX_VALUE, state.whole(RANKS)));
        return prepareLoad((int) before, state.tensors());
    }

    /**
     * Takes this rank's shards from those that another number of ranks has saved.
     *
     * @param before how many ranks have saved
     * @param ofRank reads what a rank has saved; called for those ranks only of which this one needs something, one after the other
     * @throws HvdException if names, layouts or moments are not those of this model, and no parameter is changed
     */
    public void load(int before, IntFunction<? extends Map<String, Tensor>> ofRank) {
        if (before < 1) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "loadShards(" + before + ", ...) on " + ranks.here()
                            + ": expected the number of ranks that have saved," + " which is at least 1");
        }
        ShardParts parts = parts();
        Map<String, Tensor> cut = new HashMap<>();
        for (int rank : parts.ranksNeeded(before)) {
            ShardNames.ofRank(rank, before, ofRank.apply(rank)).forEach((name, tensor) -> {
                parts.needs(name, tensor.shape()).ifPresent(run -> cut.put(name, HostTensors.cut(tensor, run)));
            });
        }
        prepareLoad(before, cut).run();
    }

    private Runnable prepareLoad(int before, Map<String, Tensor> saved) {
        Runnable resharding = new Resharding(passes, ranks, steps, before, saved).prepare();
        return () -> {
            passes.forgetPass();
            resharding.run();
        };
    }
}
