package io.hvd.engine.coordination;

import io.hvd.config.EngineSettings;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Moving;
import io.hvd.engine.message.Reducing;
import io.hvd.engine.message.Request;
import java.util.ArrayList;
import java.util.List;

/** Makes batches from the operations that the ranks of a process set agree on. */
final class Batching {
    private EngineSettings settings;
    private final Joining joining;
    private final SetChanges changes;

    /** @param changes decides about requests that change the process sets */
    Batching(EngineSettings settings, Joining joining, SetChanges changes) {
        this.settings = settings;
        this.joining = joining;
        this.changes = changes;
    }

    /** Other settings hold from the next batch on. */
    void tune(EngineSettings others) {
        settings = others;
    }

    /** Makes batches from operations that belong to no group. */
    List<Batch> batches(List<Tally> agreed) {
        List<Batch> batches = new ArrayList<>();
        List<Tally> fusable = new ArrayList<>();
        for (Tally tally : agreed) {
            switch (tally.first().kind()) {
                case ALLREDUCE, BROADCAST -> fusable.add(tally);
                default -> batches.add(batch(List.of(tally)));
            }
        }
        batches.addAll(fused(fusable, settings.fusionThresholdBytes()));
        return batches;
    }

    /**
     * Makes batches from a group. Allreduces become one batch, however large, as far as their types allow, or batches up to
     * the threshold if group fusion is off; other operations get a batch each.
     */
    List<Batch> group(List<Tally> tallies) {
        boolean fusable = tallies.get(0).first() instanceof Reducing.Allreduce;
        long threshold = !fusable ? 0 : settings.groupFusion() ? Long.MAX_VALUE : settings.fusionThresholdBytes();
        return fused(tallies, threshold);
    }

    private List<Batch> fused(List<Tally> tallies, long threshold) {
        return FusionPlanner.fuse(tallies, threshold).stream()
                .map(fused -> batch(fused.tallies()))
                .toList();
    }

    private Batch batch(List<Tally> tallies) {
        Tally tally = tallies.get(0);
        Request first = tally.first();
        String name = first.name();
        return switch (first.kind()) {
            case ALLREDUCE -> allreduce(tallies);
            case REDUCESCATTER -> new Batch.Reducescatter(name, joining.divisor(tally), remember());
            case REDUCE -> new Batch.Reduce(name, joining.divisor(tally));
            case BROADCAST ->
                new Batch.Broadcast(tallies.stream().map(Tally::name).toList());
            case ALLGATHER -> new Batch.Allgather(name, rows(tally), remember());
            case GATHER -> new Batch.Gather(name, rows(tally));
            case SCATTER -> scatter(tally, (Moving.Scatter) first);
            case ALLTOALL -> alltoall(tally);
            case SEND, RECEIVE -> new Batch.Transfer(name);
            case BARRIER -> new Batch.Barrier(name);
            case ADD_PROCESS_SET -> changes.add((Request.AddProcessSet) first);
            case REMOVE_PROCESS_SET -> changes.remove((Request.RemoveProcessSet) first);
            case JOIN -> throw new IllegalStateException("a join is not tallied");
        };
    }

    private Batch allreduce(List<Tally> tallies) {
        int divisor = joining.divisor(tallies.get(0));
        return joining.joined().isEmpty()
                ? new Batch.Allreduce(tallies.stream().map(Tally::op).toList(), divisor)
                : new Batch.AllreduceOfSome(
                        tallies.stream()
                                .map(tally -> (Reducing.Allreduce) tally.first())
                                .toList(),
                        divisor);
    }

    private Batch alltoall(Tally tally) {
        List<List<Long>> rows = tally.requests(Moving.Alltoall.class).stream()
                .map(Moving.Alltoall::rows)
                .toList();
        return new Batch.Alltoall(tally.name(), rows, remember());
    }

    private static Batch scatter(Tally tally, Moving.Scatter first) {
        Moving.Scatter ofRoot = tally.requests(Moving.Scatter.class).get(first.root());
        return new Batch.Scatter(tally.name(), ofRoot.given().orElseThrow());
    }

    private static List<Long> rows(Tally tally) {
        return tally.requests(Request.OfTensor.class).stream()
                .map(request -> request.shape().dim(0))
                .toList();
    }

    /** Whether the response caches store the request: only one that all ranks have made can be known to all of them. */
    private boolean remember() {
        return joining.joined().isEmpty();
    }
}
