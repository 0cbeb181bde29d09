package io.hvd.optimizer.torch.shard;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.memory.TorchCopy;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntFunction;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

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
    private static final String LAYOUT = ".layout";
    private static final String MOMENT = ".moment.";
    private static final String BUFFER = "buffer.";
    private static final String RATE = "learning_rate";

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
        TreeMap<String, Tensor> saved = new TreeMap<>();
        for (ShardUnit unit : passes.units()) {
            for (FlatParameter flat : unit.flats()) {
                saved.put(flat.name(), WholeState.copy(flat.name(), flat.shard()));
                saved.put(flat.name() + LAYOUT, Tensor.of(layout(flat, ranks.size(), ranks.rank())));
                moments(flat)
                        .forEach((moment, tensor) ->
                                saved.put(flat.name() + MOMENT + moment, WholeState.copy(moment, tensor)));
            }
            unit.buffers().forEach((name, buffer) -> saved.put(BUFFER + name, WholeState.copy(name, buffer)));
        }
        if (steps != null) {
            saved.put(RATE, Tensor.of(new double[] {steps.learningRate()}));
        }
        return saved;
    }

    private Map<String, org.bytedeco.pytorch.Tensor> moments(FlatParameter flat) {
        return steps == null ? Map.of() : steps.moments(flat);
    }

    private static long[] layout(FlatParameter flat, int ranks, int rank) {
        return new long[] {ranks, rank, flat.layout().elements(), flat.layout().fingerprint()};
    }

    /** What a flat parameter is given, before anything is changed. */
    private record Taken(org.bytedeco.pytorch.Tensor shard, Map<String, org.bytedeco.pytorch.Tensor> moments) {}

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
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Map<FlatParameter, Taken> taken = new LinkedHashMap<>();
            List<FlatParameter> flats = passes.units().stream()
                    .flatMap(unit -> unit.flats().stream())
                    .toList();
            flats.forEach(flat ->
                    taken.put(flat, new Taken(torch.zeros_like(flat.shard().detach()), new HashMap<>())));
            Map<String, Tensor> own = Map.of();
            for (int rank = 0; rank < before; rank++) {
                boolean isOwn = rank == ranks.rank() % before;
                if (isOwn || isNeeded(flats, before, rank)) {
                    Map<String, Tensor> saved = ofRank.apply(rank);
                    for (FlatParameter flat : flats) {
                        take(flat, before, rank, saved, taken.get(flat));
                    }
                    own = isOwn ? whole(saved) : own;
                }
            }
            taken.forEach(this::putMoments);
            passes.stepBegins();
            taken.forEach((flat, each) -> flat.shard().detach().copy_(each.shard));
            put(own);
        }
    }

    private boolean isNeeded(List<FlatParameter> flats, int before, int rank) {
        return flats.stream()
                .anyMatch(flat ->
                        flat.layout().overlap(before, rank, ranks.rank()).elements() > 0);
    }

    private void take(FlatParameter flat, int before, int rank, Map<String, Tensor> saved, Taken taken) {
        requireLayout(flat, before, rank, saved.get(flat.name() + LAYOUT));
        FlatLayout.Overlap overlap = flat.layout().overlap(before, rank, ranks.rank());
        run(flat.name(), saved.get(flat.name()), overlap, taken.shard);
        String prefix = flat.name() + MOMENT;
        saved.forEach((name, tensor) -> {
            if (steps != null && name.startsWith(prefix)) {
                String moment = name.substring(prefix.length());
                if (tensor.dtype() == DType.INT64) {
                    count(name, tensor, rank, moment, taken);
                } else {
                    run(
                            name,
                            tensor,
                            overlap,
                            taken.moments.computeIfAbsent(moment, key -> torch.zeros_like(taken.shard)));
                }
            }
        });
    }

    /** All ranks have counted the same steps. */
    private static void count(String name, Tensor saved, int rank, String moment, Taken taken) {
        var before = taken.moments.putIfAbsent(moment, torch.full(new long[0], new Scalar(first(saved)), integer()));
        if (before != null && before.item_long() != first(saved)) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the shards do not fit together: \"" + name + "\" of rank " + rank + " is " + first(saved)
                            + ", expected " + before.item_long()
                            + " as of the ranks before it. They are of different steps: load those of one checkpoint");
        }
    }

    private static TensorOptions integer() {
        return new TensorOptions(torch.ScalarType.Long);
    }

    private static long first(Tensor tensor) {
        return ((long[]) tensor.toArray())[0];
    }

    private void requireLayout(FlatParameter flat, int before, int rank, Tensor found) {
        long[] expected = layout(flat, before, rank);
        long[] is = found != null && found.dtype() == DType.INT64 ? (long[]) found.toArray() : new long[0];
        if (!Arrays.equals(is, expected)) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the shards of rank " + rank + " of " + before + ", as " + ranks.here()
                            + " reads them, do not fit: \""
                            + flat.name() + LAYOUT + "\" is " + Arrays.toString(is) + ", expected "
                            + Arrays.toString(expected)
                            + " (ranks, rank, elements, layout of "
                            + flat.layout().words() + ")");
        }
    }

    private static void run(String name, Tensor saved, FlatLayout.Overlap overlap, org.bytedeco.pytorch.Tensor into) {
        if (saved == null
                || saved.dtype() != TensorViews.typeOf(name, into)
                || saved.shape().rank() != 1
                || saved.elements() < overlap.fromOffset() + overlap.elements()) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the shards do not fit: \"" + name + "\" is " + saved + ", expected "
                            + TensorViews.typeOf(name, into) + " of at least "
                            + (overlap.fromOffset() + overlap.elements()) + " elements");
        }
        if (overlap.elements() > 0) {
            try (PointerScope scope = new PointerScope()) {
                var all = torch.empty(
                        saved.shape().toArray(), new TensorOptions(into.scalar_type()), new MemoryFormatOptional());
                TorchCopy.copy(saved, all);
                into.narrow(0, overlap.toOffset(), overlap.elements())
                        .copy_(all.narrow(0, overlap.fromOffset(), overlap.elements()));
            }
        }
    }

    /** The entries that are not cut: buffers and the learning rate. */
    private Map<String, Tensor> whole(Map<String, Tensor> saved) {
        Map<String, Tensor> whole = new HashMap<>();
        for (ShardUnit unit : passes.units()) {
            unit.buffers().forEach((name, buffer) -> {
                Tensor found = saved.get(BUFFER + name);
                if (found == null
                        || found.dtype() != TensorViews.typeOf(name, buffer)
                        || !found.shape().equals(TensorViews.shape(buffer))) {
                    throw new HvdException(
                            ErrorId.STATE_MISMATCH,
                            "the shards do not fit: \"" + BUFFER + name + "\" is " + found + ", expected "
                                    + TensorViews.typeOf(name, buffer) + TensorViews.shape(buffer));
                }
                whole.put(BUFFER + name, found);
            });
        }
        if (saved.containsKey(RATE)) {
            whole.put(RATE, saved.get(RATE));
        }
        return whole;
    }

    private void putMoments(FlatParameter flat, Taken taken) {
        if (steps != null && flat.isTrainable()) {
            steps.moments(flat, taken.moments);
        }
    }

    private void put(Map<String, Tensor> whole) {
        passes.units()
                .forEach(unit ->
                        unit.buffers().forEach((name, buffer) -> TorchCopy.copy(whole.get(BUFFER + name), buffer)));
        if (steps != null && whole.containsKey(RATE)) {
            steps.learningRate(((double[]) whole.get(RATE).toArray())[0]);
        }
    }
}
