package io.hvd.engine;

import io.hvd.config.EngineSettings;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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
    private final boolean takesCores;
    private final Map<Request, Sums> sums = new HashMap<>();
    /** When the program has begun to wait for a result, or learnt that it is there; by names. */
    private final Map<String, Long> observed = new ConcurrentHashMap<>();
    /** By the place in the plan. */
    private final TreeMap<Integer, Pace.Sample> quickest = new TreeMap<>();

    private final List<List<PendingOp>> step = new ArrayList<>();
    private Set<String> names = Set.of();
    private volatile int looks;
    private int steps;
    private int seen;

    /** @param takesCores whether batches of tensors in the host's memory keep the program from computing meanwhile */
    StepStudy(EngineSettings settings, boolean takesCores) {
        this.settings = settings;
        this.takesCores = takesCores;
    }

    /** The program asks for the result of one of the plan's operations; any thread. */
    void observed(String name) {
        if (looks < LOOKS.length) {
            observed.put(name, System.nanoTime());
        }
    }

    /** Sums of times since the beginning of the step, over all steps seen. */
    private static final class Sums {
        long submitted;
        /** What the program has submitted next after it had observed this one. */
        final Set<Request> after = new HashSet<>();
    }

    /** A plan begins. What has been seen of another one counts no more, but its looks do if it has the same operations. */
    void begin(List<List<String>> batches) {
        Set<String> planned = batches.stream().flatMap(List::stream).collect(Collectors.toSet());
        looks = planned.equals(names) ? looks : 0;
        names = planned;
        steps = 0;
        forget();
    }

    /** What has been found does not hold any more. */
    void startAnew() {
        names = Set.of();
        looks = 0;
        steps = 0;
        forget();
    }

    private void forget() {
        seen = 0;
        observed.clear();
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
        step.add(ops);
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

    private long submitted(Request request) {
        return sums.get(request).submitted / seen;
    }

    /** When the first is submitted that may need the result. */
    private long needed(Sums its) {
        return its.after.stream().mapToLong(this::submitted).min().orElse(Long.MAX_VALUE);
    }

    private void add() {
        long begun = ops().mapToLong(op -> op.call().submittedNanos()).min().orElseThrow();
        TreeMap<Long, Request> bySubmission = new TreeMap<>();
        ops().forEach(op -> bySubmission.putIfAbsent(op.call().submittedNanos(), op.request()));
        ops().forEach(op -> {
            Sums its = sums.computeIfAbsent(op.request(), request -> new Sums());
            its.submitted += op.call().submittedNanos() - begun;
            Long since = observed.get(op.name());
            if (since != null && since >= op.call().submittedNanos()) {
                Map.Entry<Long, Request> next = bySubmission.higherEntry(since);
                if (next != null) {
                    its.after.add(next.getValue());
                }
            }
        });
        seen++;
        step.clear();
    }

    private Stream<PendingOp> ops() {
        return step.stream().flatMap(List::stream);
    }

    private Optional<List<List<String>>> look(List<List<String>> plan) {
        Pace pace = Pace.of(List.copyOf(quickest.values()));
        boolean overlaps = !takesCores
                || !sums.keySet().stream().allMatch(request -> request.device().isCpu());
        StepCut cut = new StepCut(pace, settings.fusionThresholdBytes(), settings.groupFusion(), overlaps);
        List<StepCut.Ready> ready = sums.entrySet().stream()
                .map(entry -> new StepCut.Ready(entry.getKey(), submitted(entry.getKey()), needed(entry.getValue())))
                .toList();
        List<List<String>> best = cut.best(ready);
        boolean sooner = cut.end(ready, best) < (1 - WORTH) * cut.end(ready, plan);
        boolean fewer = 2 * best.size() <= plan.size();
        return sooner || fewer ? Optional.of(best) : Optional.empty();
    }
}
