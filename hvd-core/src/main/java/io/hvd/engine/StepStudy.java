package io.hvd.engine;

import io.hvd.config.EngineSettings;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Watches a static plan at work on rank 0: when the program submits each operation of a step, and how long each batch
 * takes. The plan's batches stem from the first steps, in which classes are loaded and code is slow; after some steps of
 * the plan it proposes the cut that suits what it has seen since, and once more when all code is compiled.
 */
final class StepStudy {
    /** Steps of a plan, counted from its begin, after which the first and the second look is taken. */
    private static final int[] LOOKS = {32, 512};
    /** A new cut takes some negotiated steps; it should bring so much of a step's time, or halve the batches. */
    private static final double WORTH = 0.05;

    private final EngineSettings settings;
    private final Map<Request, Sums> sums = new HashMap<>();
    /** By the place in the plan. */
    private final TreeMap<Integer, Pace.Sample> quickest = new TreeMap<>();

    private final List<Ran> step = new ArrayList<>();
    private Set<String> names = Set.of();
    private int looks;
    private int steps;
    private int seen;

    StepStudy(EngineSettings settings) {
        this.settings = settings;
    }

    private record Ran(List<PendingOp> ops, long endNanos) {}

    /** Of times since the step's begin, over all steps seen. */
    private static final class Sums {
        long submitted;
        long done;
    }

    /** A plan begins. What has been seen of another one counts no more, but its looks do if it has the same operations. */
    void begin(List<List<String>> batches) {
        Set<String> planned = batches.stream().flatMap(List::stream).collect(Collectors.toSet());
        looks = planned.equals(names) ? looks : 0;
        names = planned;
        steps = 0;
        forget();
    }

    private void forget() {
        seen = 0;
        sums.clear();
        quickest.clear();
        step.clear();
    }

    /**
     * A batch has been carried out.
     *
     * @param begun in nanoseconds, as {@code ended}
     * @param plan all batches
     * @return another cut of the same operations that is worth the change; seldom
     */
    Optional<List<List<String>>> ran(List<PendingOp> ops, long begun, long ended, List<List<String>> plan) {
        if (looks == LOOKS.length) {
            return Optional.empty();
        }
        long bytes = ops.stream().mapToLong(op -> op.request().wireBytes()).sum();
        quickest.merge(
                step.size(),
                new Pace.Sample(bytes, ended - begun),
                (one, other) -> one.nanos() <= other.nanos() ? one : other);
        step.add(new Ran(ops, ended));
        if (step.size() < plan.size()) {
            return Optional.empty();
        }
        add();
        if (++steps < LOOKS[looks]) {
            return Optional.empty();
        }
        Optional<List<List<String>>> found = look(plan);
        looks++;
        forget();
        return found;
    }

    private void add() {
        long begun = step.stream()
                .flatMap(ran -> ran.ops().stream())
                .mapToLong(op -> op.call().submittedNanos())
                .min()
                .orElseThrow();
        for (Ran ran : step) {
            for (PendingOp op : ran.ops()) {
                Sums its = sums.computeIfAbsent(op.request(), request -> new Sums());
                its.submitted += op.call().submittedNanos() - begun;
                its.done += ran.endNanos() - begun;
            }
        }
        seen++;
        step.clear();
    }

    private Optional<List<List<String>>> look(List<List<String>> plan) {
        Pace pace = Pace.of(List.copyOf(quickest.values()));
        StepCut cut = new StepCut(pace, settings.fusionThresholdBytes(), settings.groupFusion());
        List<StepCut.Ready> ready = sums.entrySet().stream()
                .map(entry -> new StepCut.Ready(
                        entry.getKey(), entry.getValue().submitted / seen, entry.getValue().done / seen))
                .toList();
        List<List<String>> best = cut.best(ready);
        boolean sooner = cut.end(ready, best) < (1 - WORTH) * cut.end(ready, plan);
        boolean fewer = 2 * best.size() <= plan.size();
        return sooner || fewer ? Optional.of(best) : Optional.empty();
    }
}
