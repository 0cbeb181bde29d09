package io.hvd.optimizer.torch.shard;

import io.hvd.optimizer.torch.shard.FlatLayout.Overlap;
import io.hvd.tensor.ElementRun;
import io.hvd.tensor.Shape;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** Which elements of the shards of any number of ranks this rank needs, and of which of these ranks it takes what is not cut. */
final class ShardParts {
    private final Ranks ranks;
    private final List<FlatParameter> flats;

    ShardParts(ShardPasses passes, Ranks ranks) {
        this.ranks = ranks;
        this.flats =
                passes.units().stream().flatMap(unit -> unit.flats().stream()).toList();
    }

    List<FlatParameter> flats() {
        return flats;
    }

    /** The rank whose buffers and learning rate this one takes, and whose moments say which there are. */
    int own(int before) {
        return ranks.rank() % before;
    }

    /** The ranks of whose states this one needs something, its own among them. */
    List<Integer> ranksNeeded(int before) {
        return IntStream.range(0, before)
                .filter(rank -> isNeeded(before, rank))
                .boxed()
                .toList();
    }

    private boolean isNeeded(int before, int rank) {
        return rank == own(before) || flats.stream().anyMatch(flat -> isNeeded(flat, before, rank));
    }

    private boolean isNeeded(FlatParameter flat, int before, int rank) {
        return overlap(flat, before, rank).elements() > 0;
    }

    /** The ranks of whose shards of a flat parameter this one needs elements, and its own, which may have none for it. */
    List<Integer> ranksNeeded(FlatParameter flat, int before) {
        return IntStream.range(0, before)
                .filter(rank -> rank == own(before) || isNeeded(flat, before, rank))
                .boxed()
                .toList();
    }

    Overlap overlap(FlatParameter flat, int before, int rank) {
        return flat.layout().overlap(before, rank, ranks.rank());
    }

    /** The flat parameter whose shard, layout or moment is called so; empty for buffers and for what this model has not. */
    Optional<FlatParameter> flatOf(String name) {
        return flats.stream().filter(flat -> ShardNames.isOf(flat.name(), name)).findFirst();
    }

    /** As {@code ModelShards} says. Of a tensor that is too short nothing is taken. */
    Optional<ElementRun> needs(String tensor, Shape shape) {
        return ShardNames.parse(tensor).flatMap(name -> needs(name, shape));
    }

    private Optional<ElementRun> needs(ShardNames.OfRank saved, Shape shape) {
        boolean isOwn = saved.rank() == own(saved.ranks());
        String name = saved.name();
        Optional<FlatParameter> flat = flatOf(name);
        boolean isBuffer = flat.isEmpty() && name.startsWith(ShardNames.BUFFER);
        if (isBuffer || name.equals(ShardNames.RATE)) {
            return isOwn ? Optional.of(ElementRun.all(shape)) : Optional.empty();
        }
        if (name.endsWith(ShardNames.LAYOUT)) {
            return isNeeded(saved.ranks(), saved.rank()) ? Optional.of(ElementRun.all(shape)) : Optional.empty();
        }
        if (flat.isEmpty() || !isOwn && !isNeeded(flat.get(), saved.ranks(), saved.rank())) {
            return Optional.empty();
        }
        Overlap overlap = overlap(flat.get(), saved.ranks(), saved.rank());
        ElementRun run = new ElementRun(overlap.fromOffset(), overlap.elements());
        if (shape.rank() == 0) {
            return Optional.of(ElementRun.all(shape)); // a count of steps
        }
        return run.isWithin(shape) ? Optional.of(run) : Optional.empty();
    }
}
