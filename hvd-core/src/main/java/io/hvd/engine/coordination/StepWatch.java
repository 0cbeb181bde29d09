package io.hvd.engine.coordination;

import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Plan;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Watches the batches of a process set for steps that repeat. A step is a sequence of operations in which none comes
 * twice. Two steps are identical when they consist of the same remembered requests, however fusion has cut them into
 * batches.
 */
final class StepWatch {
    private final int wanted;
    private List<List<Plan.Op>> step = new ArrayList<>();
    private Set<Integer> numbers = new HashSet<>();
    private Set<Integer> before = Set.of();
    /** The cut with the most batches so far; it lets the first gradients go earliest. */
    private List<List<Plan.Op>> finest = List.of();

    /** The cut that has been found to be best for a step. */
    private List<List<String>> preferred = List.of();
    /**
     * The operations of the step that the preferred cut is for; a request that changes in anything gets another number.
     */
    private Set<Integer> preferredFor = Set.of();
    /** The operations of the step that settled last. */
    private Set<Integer> locked = Set.of();

    private int repeats;

    /** @param wanted number of identical steps in a row after which they count as settled; 0 for never */
    StepWatch(int wanted) {
        this.wanted = wanted;
    }

    /**
     * Records a batch.
     *
     * @param settles whether such a batch may be part of a static plan at all
     * @return the batches of a step once it has come often enough; else empty
     */
    List<List<String>> see(Batch batch, boolean settles) {
        if (wanted == 0) {
            return List.of();
        }
        if (!settles
                || !(batch instanceof Batch.Allreduce allreduce)
                || !allreduce.ops().stream().allMatch(Plan.Op::isKnown)) {
            startOver();
            return List.of();
        }
        List<Plan.Op> ops = allreduce.ops();
        if (ops.stream().anyMatch(op -> numbers.contains(op.number()))) {
            endStep();
        }
        step.add(ops);
        ops.forEach(op -> numbers.add(op.number()));
        return settled();
    }

    /**
     * A static plan has ended.
     *
     * @param cut the better cut of its step, used whenever the step comes again; an empty list of batches if they are
     *     to be found anew; empty to keep what is known
     */
    void startOver(Optional<List<List<String>>> cut) {
        cut.ifPresent(batches -> {
            preferred = batches;
            preferredFor = batches.isEmpty() ? Set.of() : locked;
        });
        startOver();
    }

    private void startOver() {
        step = new ArrayList<>();
        numbers = new HashSet<>();
        before = Set.of();
        finest = List.of();
        repeats = 0;
    }

    private void endStep() {
        if (numbers.equals(before)) {
            repeats++;
        } else {
            repeats = 1;
            finest = List.of();
        }
        finest = step.size() > finest.size() ? step : finest;
        before = numbers;
        step = new ArrayList<>();
        numbers = new HashSet<>();
    }

    /** The batches of a step that has come often enough, at its end; empty in the middle of a step. */
    private List<List<String>> settled() {
        if (repeats < wanted - 1 || !numbers.equals(before)) {
            return List.of();
        }
        List<List<Plan.Op>> best = step.size() > finest.size() ? step : finest;
        locked = before;
        return suits(best) ? preferred : names(best);
    }

    /** Whether the preferred cut is for this step and begins where this one does: the first batches have an operation in common. */
    private boolean suits(List<List<Plan.Op>> found) {
        return before.equals(preferredFor)
                && found.get(0).stream().anyMatch(op -> preferred.get(0).contains(op.name()));
    }

    private static List<List<String>> names(List<List<Plan.Op>> batches) {
        return batches.stream()
                .map(ops -> ops.stream().map(Plan.Op::name).toList())
                .toList();
    }
}
