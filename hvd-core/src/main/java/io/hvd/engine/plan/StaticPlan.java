package io.hvd.engine.plan;

import io.hvd.engine.execution.PlannedBatch;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.Slot;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A step that every rank carries out on its own, batch by batch, without asking the coordinator: the ranks meet in the
 * data plane. A rank that is asked for anything else must veto the next batch, which takes all ranks back to
 * negotiating. Each operation counts down what its batch lacks, so that nothing is looked up.
 */
final class StaticPlan {
    private final List<List<String>> names;
    private final PlannedBatch[] batches;
    private final long bytes;
    private int next;
    private boolean left;

    /**
     * Takes the slots into the plan, until it {@link #end ends}.
     *
     * @param batches the slots of each batch, whose requests are remembered
     * @param ranks number of ranks that take part
     */
    public StaticPlan(List<List<Slot>> batches, int ranks) {
        this.names = batches.stream()
                .map(batch -> batch.stream().map(Slot::name).toList())
                .toList();
        this.batches = IntStream.range(0, batches.size())
                .mapToObj(number -> new PlannedBatch(number, batches.get(number), ranks))
                .toArray(PlannedBatch[]::new);
        this.bytes =
                requests(0, this.batches.length).mapToLong(Request::wireBytes).sum();
    }

    /** Number of bytes that a step reduces. */
    long bytes() {
        return bytes;
    }

    /** Takes in an operation of the set that the program has submitted. */
    public void submitted(PendingOp op) {
        int batch = op.slot().batch();
        if (batch == Slot.NOT_PLANNED
                || beginsStepTooEarly(batch)
                || !batches[batch].takes(op, op.slot().placeInBatch())) {
            left = true;
        }
    }

    /**
     * An operation of a batch that has been carried out belongs to the next step. If this step is not complete by then,
     * it never will be.
     */
    private boolean beginsStepTooEarly(int batch) {
        for (int i = next; batch < next && i < batches.length; i++) {
            if (batches[i].missing() > 0) {
                return true;
            }
        }
        return false;
    }

    /** The rank is asked for something that is not planned. */
    void leave() {
        left = true;
    }

    boolean isLeft() {
        return left;
    }

    /** Whether all operations of the next batch have been submitted. */
    boolean isDue() {
        return !left && missing() == 0;
    }

    /** Number of operations of the next batch that have not been submitted. */
    int missing() {
        return next().missing();
    }

    /** Whether no submitted operation is still to be carried out. */
    boolean isIdle() {
        for (PlannedBatch batch : batches) {
            if (!batch.isEmpty()) {
                return false;
            }
        }
        return true;
    }

    boolean isAtLastBatch() {
        return next == batches.length - 1;
    }

    PlannedBatch next() {
        return batches[next];
    }

    /** The names of the step's operations, batch by batch. */
    List<List<String>> names() {
        return names;
    }

    /**
     * Names of the operations that this step has carried out, by the name of their group, for groups that are not
     * complete.
     */
    Map<String, Set<String>> begunGroups() {
        Map<String, Set<String>> begun = new HashMap<>();
        requests(0, next)
                .forEach(request -> begun.computeIfAbsent(request.group().name(), key -> new HashSet<>())
                        .add(request.name()));
        Set<String> unfinished = new HashSet<>();
        requests(next, batches.length)
                .map(Request::group)
                .filter(group -> !group.isNone())
                .forEach(group -> unfinished.add(group.name()));
        begun.keySet().retainAll(unfinished);
        return begun;
    }

    private Stream<Request> requests(int fromBatch, int toBatch) {
        return Arrays.stream(batches, fromBatch, toBatch).flatMap(PlannedBatch::requests);
    }

    /** The next batch has been carried out. */
    void advance() {
        next().startOver();
        next = (next + 1) % batches.length;
    }

    /** The plan has ended: its slots belong to no plan any more. */
    public void end() {
        for (PlannedBatch batch : batches) {
            batch.end();
        }
    }
}
