package io.hvd.optimizer.torch.shard;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.memory.TorchCopy;
import io.hvd.optimizer.torch.shard.FlatLayout.Overlap;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;

/**
 * Gives this rank its shards from the parts of those that another number of ranks has saved. All is looked at first; then each flat parameter's
 * moments are put together and taken over, one after the other, and the parameters last.
 */
final class Resharding {
    private final ShardPasses passes;
    private final Ranks ranks;
    /** Null if there is no optimizer. */
    private final ShardedSteps steps;

    private final int before;
    private final Map<String, Tensor> saved;
    private final ShardParts parts;

    /** @param saved what {@link ShardParts#needs} says, by the names of several ranks' states */
    Resharding(ShardPasses passes, Ranks ranks, ShardedSteps steps, int before, Map<String, Tensor> saved) {
        this.passes = passes;
        this.ranks = ranks;
        this.steps = steps;
        this.before = before;
        this.saved = saved;
        this.parts = new ShardParts(passes, ranks);
    }

    /**
     * Looks at all of it.
     *
     * @return takes it over
     * @throws HvdException if names, layouts or moments are not those of this model
     */
    Runnable prepare() {
        parts.ranksNeeded(before).forEach(this::requireLayouts);
        requireNothingElse();
        Map<FlatParameter, SortedSet<String>> moments = new LinkedHashMap<>();
        for (FlatParameter flat : parts.flats()) {
            requireParts(flat, flat.name());
            moments.put(flat, momentsOf(flat));
        }
        requireBuffers();
        return () -> {
            moments.forEach(this::putMoments);
            parts.flats().forEach(this::putShard);
            putWhole();
        };
    }

    /** Frees what it has put together before the next flat parameter's. */
    private void putMoments(FlatParameter flat, SortedSet<String> moments) {
        if (steps != null && flat.isTrainable()) {
            try (PointerScope scope = new PointerScope();
                    NoGradGuard guard = new NoGradGuard()) {
                steps.moments(flat, joined(flat, moments));
            }
        }
    }

    private void putShard(FlatParameter flat) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            join(flat, flat.name(), flat.shard().detach());
        }
    }

    private Tensor of(int rank, String name) {
        return saved.get(ShardNames.ofRank(rank, before, name));
    }

    private void requireLayouts(int rank) {
        for (FlatParameter flat : parts.flats()) {
            long[] expected = ShardState.layout(flat, before, rank);
            Tensor found = of(rank, flat.name() + ShardNames.LAYOUT);
            long[] is = found != null && found.dtype() == DType.INT64 ? (long[]) found.toArray() : new long[0];
            if (!Arrays.equals(is, expected)) {
                throw mismatch("the shards of rank " + rank + " of " + before + ", as " + ranks.here()
                        + " reads them, do not fit: \"" + flat.name() + ShardNames.LAYOUT + "\" is "
                        + Arrays.toString(is) + ", expected " + Arrays.toString(expected)
                        + " (ranks, rank, elements, layout of " + flat.layout().words() + ")");
            }
        }
    }

    /** What the rank from which this one takes its buffers has saved beside what this model has. */
    private void requireNothingElse() {
        SortedSet<String> unknown = new TreeSet<>();
        for (String each : saved.keySet()) {
            ShardNames.parse(each)
                    .filter(name -> name.rank() == parts.own(before))
                    .map(ShardNames.OfRank::name)
                    .filter(name -> name.startsWith(ShardNames.BUFFER) || name.endsWith(ShardNames.LAYOUT))
                    .filter(name -> parts.flatOf(name).isEmpty())
                    .ifPresent(unknown::add);
        }
        passes.units()
                .forEach(unit -> unit.buffers().keySet().forEach(name -> unknown.remove(ShardNames.BUFFER + name)));
        if (!unknown.isEmpty()) {
            throw mismatch("the shards do not fit: " + unknown + " of rank " + parts.own(before) + " of " + before
                    + " are of no unit of this model, which has the flat parameters "
                    + parts.flats().stream().map(FlatParameter::name).collect(Collectors.toCollection(TreeSet::new)));
        }
    }

    /** Requires of each rank that is needed its part of a vector that is cut as the flat parameter. */
    private void requireParts(FlatParameter flat, String name) {
        DType type = TensorViews.typeOf(name, flat.shard());
        for (int rank : parts.ranksNeeded(flat, before)) {
            Tensor found = of(rank, name);
            Overlap overlap = parts.overlap(flat, before, rank);
            if (found == null
                    || found.dtype() != type
                    || found.shape().rank() != 1
                    || found.elements() != overlap.elements()) {
                throw mismatch("the shards do not fit: \"" + name + "\" of rank " + rank + " of " + before + " is "
                        + (found == null ? "missing or too short" : found.dtype() + "" + found.shape()) + ", expected "
                        + type + " of at least " + (overlap.fromOffset() + overlap.elements()) + " elements");
            }
        }
    }

    /** The names of the moments, which all ranks have alike. */
    private SortedSet<String> momentsOf(FlatParameter flat) {
        SortedSet<String> names = new TreeSet<>();
        if (steps == null) {
            return names;
        }
        List<Integer> needed = parts.ranksNeeded(flat, before);
        for (int rank : needed) {
            String prefix = ShardNames.ofRank(rank, before, flat.name() + ShardNames.MOMENT);
            saved.keySet().stream()
                    .filter(name -> name.startsWith(prefix))
                    .forEach(name -> names.add(name.substring(prefix.length())));
        }
        for (String moment : names) {
            String name = flat.name() + ShardNames.MOMENT + moment;
            Tensor first = of(needed.get(0), name);
            if (first != null && isCount(first)) {
                requireSameCount(name, needed);
            } else {
                requireParts(flat, name);
            }
        }
        return names;
    }

    private static boolean isCount(Tensor tensor) {
        return tensor.dtype() == DType.INT64 && tensor.elements() == 1;
    }

    private void requireSameCount(String name, List<Integer> needed) {
        long expected = count(of(needed.get(0), name));
        for (int rank : needed) {
            Tensor found = of(rank, name);
            if (found == null || !isCount(found) || count(found) != expected) {
                throw mismatch("the shards do not fit together: \"" + name + "\" of rank " + rank + " is "
                        + (found != null && isCount(found) ? String.valueOf(count(found)) : String.valueOf(found))
                        + ", expected " + expected
                        + " as of the ranks before it. They are of different steps: load those of one checkpoint");
            }
        }
    }

    private static long count(Tensor tensor) {
        return ((long[]) tensor.toArray())[0];
    }

    private void requireBuffers() {
        for (ShardUnit unit : passes.units()) {
            unit.buffers().forEach((name, buffer) -> {
                Tensor found = of(parts.own(before), ShardNames.BUFFER + name);
                DType type = TensorViews.typeOf(name, buffer);
                Shape shape = TensorViews.shape(buffer);
                if (found == null || found.dtype() != type || !found.shape().equals(shape)) {
                    throw mismatch("the shards do not fit: \"" + ShardNames.BUFFER + name + "\" of rank "
                            + parts.own(before) + " of " + before + " is " + found + ", expected " + type + shape);
                }
            });
        }
    }

    /** The moments of this rank's shard, in the host's memory as long as the scope that is open. */
    private SortedMap<String, Tensor> joined(FlatParameter flat, SortedSet<String> moments) {
        SortedMap<String, Tensor> joined = new TreeMap<>();
        for (String moment : moments) {
            String name = flat.name() + ShardNames.MOMENT + moment;
            Tensor own = of(parts.own(before), name);
            if (isCount(own) && own.shape().rank() == 0) {
                joined.put(moment, own);
            } else {
                var whole = HostTensors.empty(flat.shard(), flat.layout().shard());
                whole.zero_();
                join(flat, name, whole);
                joined.put(moment, TensorViews.onHost(name, whole, TensorViews.LONGEST_BUFFER));
            }
        }
        return joined;
    }

    private void join(FlatParameter flat, String name, org.bytedeco.pytorch.Tensor into) {
        for (int rank : parts.ranksNeeded(flat, before)) {
            Overlap overlap = parts.overlap(flat, before, rank);
            if (overlap.elements() > 0) {
                TorchCopy.copy(of(rank, name), into.narrow(0, overlap.toOffset(), overlap.elements()));
            }
        }
    }

    private void putWhole() {
        int own = parts.own(before);
        passes.units()
                .forEach(unit -> unit.buffers()
                        .forEach((name, buffer) -> TorchCopy.copy(of(own, ShardNames.BUFFER + name), buffer)));
        Tensor rate = of(own, ShardNames.RATE);
        if (steps != null && rate != null) {
            steps.learningRate(((double[]) rate.toArray())[0]);
        }
    }

    private static HvdException mismatch(String how) {
        return new HvdException(ErrorId.STATE_MISMATCH, how);
    }
}
