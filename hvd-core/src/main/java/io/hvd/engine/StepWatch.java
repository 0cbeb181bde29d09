package io.hvd.engine;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Watches the batches of a process set for steps that repeat. A step is a run of operations of which
 * none comes twice; steps are identical when they are made of the same remembered requests, however
 * fusion has cut them into batches.
 */
final class StepWatch {
    private final int wanted;
    private List<List<Plan.Op>> step = new ArrayList<>();
    private Set<Integer> numbers = new HashSet<>();
    private Set<Integer> before = Set.of();
    /** The finest cut seen, because it lets the first gradients go earliest. */
    private List<List<Plan.Op>> finest = List.of();

    /** What a step has been found to be best cut into. */
    private List<List<String>> preferred = List.of();
    /** The step's operations; a request that changes in anything gets another number. */
    private Set<Integer> preferredFor = Set.of();
    /** The operations of the step that has settled last. */
    private Set<Integer> locked = Set.of();

    private int repeats;

    /** @param wanted identical steps in a row before they count as settled; 0 for never */
    StepWatch(int wanted) {
        this.wanted = wanted;
    }

    /**
     * Takes note of a batch.
     *
     * @param settles whether such a batch may be part of a static plan at all
     * @return the batches of a step, once it has come often enough; else empty
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
     * @param cut what its step is better cut into, whenever it comes again; no batches to find them anew; nothing to
     *     leave it at what is known
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

    /** At the end of a step as it has always been, not in the middle of one. */
    private List<List<String>> settled() {
        if (repeats < wanted - 1 || !numbers.equals(before)) {
            return List.of();
        }
        List<List<Plan.Op>> best = step.size() > finest.size() ? step : finest;
        locked = before;
        return suits(best) ? preferred : names(best);
    }

    /** Whether the preferred cut is of this step, and begins where this one does. */
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
