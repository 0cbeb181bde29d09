package io.hvd.engine.tuning;

import io.hvd.config.EngineSettings;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Tunable;
import io.hvd.engine.submission.PendingOp;
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

/**
 * Watches on rank 0 how a static plan runs: when the program submits each operation of a step, and how long each batch
 * takes. The plan's batches come from the first steps, in which classes are loaded and code is slow. After some steps
 * of the plan this class proposes the cut that suits what it has seen since, and once more when all code is compiled.
 */
public final class StepStudy {
    /** Steps since the plan's beginning after which it looks for the first and the second time whether another cut is better. */
    private static final int[] LOOKS = {32, 512};
    /**
     * A new cut costs some negotiated steps, so it must save this share of a step's time or halve the number of
     * batches.
     */
    private static final double WORTH = 0.05;

    private final boolean groupFusion;
    private Tunable settings;
    private final boolean takesCores;
    private final Map<Request, Sums> sums = new HashMap<>();
    /**
     * When the program began to wait for a result or learnt that it was there, in nanoseconds, by the operation's name.
     */
    private final Map<String, Long> observed = new ConcurrentHashMap<>();
    /** The quickest run of each batch, by the batch's place in the plan. */
    private final TreeMap<Integer, Pace.Sample> quickest = new TreeMap<>();

    /** The operations that have run since the step began, and the number of their batches. */
    private final List<Ran> step = new ArrayList<>();

    private int batches;
    private Set<String> names = Set.of();
    /** The first batch of the plan that was begun last. */
    private List<String> beginning = List.of();

    private volatile int looks;
    private int steps;
    private int seen;
    /** The findings of the last looks at these operations, each under settings that ran unlike the others. */
    private final List<Found> findings = new ArrayList<>();

    private boolean still;

    private record Found(Tunable under, List<StepCut.Ready> ready, Pace pace, boolean overlaps) {}

    /** @param takesCores whether batches of tensors in the host's memory keep the program from computing meanwhile */
    public StepStudy(EngineSettings settings, boolean takesCores) {
        this.groupFusion = settings.groupFusion();
        this.settings = Tunable.of(settings);
        this.takesCores = takesCores;
    }

    /** Other settings hold from now on. If steps run in another way under them than under any before, it looks at them anew. */
    void tune(Tunable others) {
        boolean runsLike = others.runsLike(settings);
        settings = others;
        if (!runsLike) {
            looks = hasLooked() ? Math.max(1, looks) : 0;
            forget();
        }
    }

    /** Proposes nothing after its first look, while autotuning tries other settings. */
    void keepStill(boolean keeps) {
        still = keeps;
    }

    /** Whether it knows how the operations of the plan follow each other under the settings that hold. */
    boolean hasLooked() {
        return found(settings).isPresent();
    }

    private Optional<Found> found(Tunable under) {
        return findings.stream().filter(found -> found.under().runsLike(under)).findFirst();
    }

    /** The cut of the plan's step with other settings; no batches if it is to be found anew. */
    List<List<String>> cut(Tunable others) {
        return found(others)
                .map(found -> cutter(found, others).best(found.ready()))
                .orElse(List.of());
    }

    private StepCut cutter(Found found, Tunable under) {
        return new StepCut(found.pace(), under.fusionThresholdBytes(), groupFusion, found.overlaps());
    }

    /** Whether it still needs to know when the program asks for results; any thread may call this. */
    boolean isLooking() {
        return looks < LOOKS.length;
    }

    /** The program asks for the result of one of the plan's operations; any thread may call this. */
    void observed(String name) {
        observed.put(name, System.nanoTime());
    }

    /** The record of an operation, which may itself be submitted again before the step ends. */
    private record Ran(Request request, long submittedNanos) {}

    /** Sums of times since the beginning of the step, over all steps seen. */
    private static final class Sums {
        long submitted;
        /** The requests that the program submitted next after it had observed this operation's result. */
        final Set<Request> after = new HashSet<>();
    }

    /**
     * A plan begins. What has been seen of another plan no longer counts. The number of looks is kept if the plan has
     * the same operations and begins at the same place of the program's step: a cut that was found for another beginning
     * keeps the end of a step apart from its beginning, and is not used here.
     */
    void begin(List<List<String>> batches) {
        Set<String> planned = batches.stream().flatMap(List::stream).collect(Collectors.toSet());
        boolean known = planned.equals(names) && batches.get(0).stream().anyMatch(beginning::contains);
        looks = known ? looks : 0;
        if (!known) {
            findings.clear();
        }
        names = planned;
        beginning = batches.get(0);
        steps = 0;
        forget();
    }

    /** Forgets all findings, which do not hold any more. */
    void startAnew() {
        findings.clear();
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
        endStep();
    }

    private void endStep() {
        step.clear();
        batches = 0;
    }

    /**
     * A batch has been carried out.
     *
     * @param begun the time in nanoseconds, as {@code ended} is
     * @param plan the names of all operations, batch by batch
     * @return another cut of the same operations if it is worth the change, which is seldom
     */
    Optional<List<List<String>>> ran(List<PendingOp> ops, long begun, long ended, List<List<String>> plan) {
        if (!isLooking()) {
            return Optional.empty();
        }
        long bytes = ops.stream().mapToLong(op -> op.request().wireBytes()).sum();
        quickest.merge(
                batches,
                new Pace.Sample(bytes, ended - begun),
                (one, other) -> one.nanos() <= other.nanos() ? one : other);
        ops.forEach(op -> step.add(new Ran(op.request(), op.call().submittedNanos())));
        if (++batches < plan.size()) {
            return Optional.empty();
        }
        add();
        if (++steps < LOOKS[looks] || (still && hasLooked())) {
            return Optional.empty();
        }
        Optional<List<List<String>>> better = look(plan);
        looks++;
        forget();
        return better;
    }

    private long submitted(Request request) {
        return sums.get(request).submitted / seen;
    }

    /** The time at which the first operation is submitted that may need the result. */
    private long needed(Sums its) {
        return its.after.stream().mapToLong(this::submitted).min().orElse(Long.MAX_VALUE);
    }

    private void add() {
        long begun = step.stream().mapToLong(Ran::submittedNanos).min().orElseThrow();
        TreeMap<Long, Request> bySubmission = new TreeMap<>();
        step.forEach(ran -> bySubmission.putIfAbsent(ran.submittedNanos(), ran.request()));
        step.forEach(ran -> {
            Sums its = sums.computeIfAbsent(ran.request(), request -> new Sums());
            its.submitted += ran.submittedNanos() - begun;
            Long since = observed.get(ran.request().name());
            if (since != null && since >= ran.submittedNanos()) {
                Map.Entry<Long, Request> next = bySubmission.higherEntry(since);
                if (next != null) {
                    its.after.add(next.getValue());
                }
            }
        });
        seen++;
        endStep();
    }

    private Optional<List<List<String>>> look(List<List<String>> plan) {
        Pace pace = Pace.of(List.copyOf(quickest.values()));
        boolean overlaps = !takesCores
                || !sums.keySet().stream()
                        .allMatch(request -> request instanceof Request.OfTensor tensor
                                && tensor.device().isCpu());
        List<StepCut.Ready> ready = sums.entrySet().stream()
                .map(entry -> new StepCut.Ready(entry.getKey(), submitted(entry.getKey()), needed(entry.getValue())))
                .toList();
        Found fresh = new Found(settings, ready, pace, overlaps);
        findings.removeIf(found -> found.under().runsLike(settings));
        findings.add(fresh);
        StepCut cut = cutter(fresh, settings);
        List<List<String>> best = cut.best(ready);
        boolean sooner = cut.end(ready, best) < (1 - WORTH) * cut.end(ready, plan);
        boolean fewer = 2 * best.size() <= plan.size();
        return sooner || fewer ? Optional.of(best) : Optional.empty();
    }
}
