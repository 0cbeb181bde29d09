package io.hvd.timeline;

import io.hvd.timeline.Event.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Splits every training step of every rank into computing, communication that nothing hid, and waiting
 * for others. Takes the ranks' events on one clock, each rank's in its order; knows no thread and no
 * clock, so the same events always give the same steps.
 *
 * <p>The n-th call of a tensor's operation on one rank belongs to the n-th on the others. The rank
 * that calls last is the late one. Of the time that a user's thread spends in {@code synchronize()}, the
 * part before the late rank's call is waiting for that rank, the rest is exposed communication; what
 * remains of the step is computing, of which loading data is part.
 *
 * <pre>
 * rank 0   compute | synchronize: waiting ..........| exposed communication |
 * rank 2   compute ................................ | exposed communication |
 *                                                   ^ the late call
 * </pre>
 */
final class StepSplit {
    /** A rank is late in a step if it keeps the others, on average, for at least this share of it. */
    static final double LATE_SHARE = 0.05;

    /** A rank that marks no steps, because it has joined, must not make the others' pile up. */
    private static final int MOST_UNFINISHED = 1000;

    private final List<Progress> ranks;
    private final Map<Occurrence, Arrivals> arrivals = new HashMap<>();
    private int finished;

    StepSplit(int size) {
        ranks = IntStream.range(0, size).mapToObj(Progress::new).toList();
    }

    /**
     * A step as all ranks went through it.
     *
     * @param number from 1; what was before a rank's first mark is no step
     */
    record Step(int number, List<Share> ranks) {
        /** The rank that kept the others long, if any did. */
        Optional<Integer> lateRank() {
            int late = 0;
            for (int rank = 1; rank < waitingByRank().length; rank++) {
                late = waitingByRank()[rank] > waitingByRank()[late] ? rank : late;
            }
            double mean = waitingByRank()[late] / Math.max(1.0, ranks.size() - 1);
            return mean > 0 && mean >= LATE_SHARE * meanNanos() ? Optional.of(late) : Optional.empty();
        }

        /** For how long the others waited for each rank, all of them together. */
        long[] waitingByRank() {
            long[] sums = new long[ranks.get(0).waiting.length];
            ranks.forEach(share -> IntStream.range(0, sums.length).forEach(rank -> sums[rank] += share.waiting[rank]));
            return sums;
        }

        double meanNanos() {
            return ranks.stream().mapToLong(Share::nanos).average().orElse(0);
        }
    }

    /** What one rank did in one step. */
    static final class Share {
        private final int rank;
        private final long from;
        private final long to;
        private final long[] waiting;
        private long exposed;

        Share(int rank, long from, long to, int size) {
            this.rank = rank;
            this.from = from;
            this.to = to;
            this.waiting = new long[size];
        }

        int rank() {
            return rank;
        }

        long from() {
            return from;
        }

        long to() {
            return to;
        }

        long nanos() {
            return to - from;
        }

        long exposedNanos() {
            return exposed;
        }

        long waitingNanos() {
            return IntStream.range(0, waiting.length)
                    .mapToLong(this::waitingNanosFor)
                    .sum();
        }

        long waitingNanosFor(int late) {
            return waiting[late];
        }

        /** Several threads may wait at once, and for longer than the step together. */
        long computeNanos() {
            return Math.max(0, nanos() - exposed - waitingNanos());
        }
    }

    /** Takes in what a rank did; returns the steps that all ranks have finished now. */
    List<Step> add(int rank, List<Event> events) {
        events.forEach(event -> ranks.get(rank).take(event));
        List<Step> steps = new ArrayList<>();
        while (ranks.stream().allMatch(Progress::hasStep)
                || ranks.stream().anyMatch(progress -> progress.marks.size() > MOST_UNFINISHED)) {
            steps.add(finish());
        }
        return steps;
    }

    /** Steps that some ranks have not finished and never will. */
    List<Step> rest() {
        List<Step> steps = new ArrayList<>();
        while (ranks.stream().anyMatch(Progress::hasStep)) {
            steps.add(finish());
        }
        return steps;
    }

    private Step finish() {
        finished++;
        List<Share> shares =
                ranks.stream().filter(Progress::hasStep).map(Progress::finish).toList();
        arrivals.values().removeIf(arrival -> arrival.step < finished);
        return new Step(finished, shares);
    }

    private record Operation(int set, String name) {}

    private record Occurrence(Operation operation, int number) {}

    /** When the last rank called. */
    private static final class Arrivals {
        long latest = Long.MIN_VALUE;
        int late;
        int step;
    }

    private record Wait(Occurrence what, long from, long to) {}

    /** One rank's marks and waits that belong to no finished step yet. */
    private final class Progress {
        private final int rank;
        private final Map<Operation, Integer> calls = new HashMap<>();
        private final List<Long> marks = new ArrayList<>();
        private List<List<Wait>> waits = new ArrayList<>(List.of(new ArrayList<>()));
        private int marked;

        Progress(int rank) {
            this.rank = rank;
        }

        boolean hasStep() {
            return marks.size() > 1;
        }

        void take(Event event) {
            Operation operation = new Operation(event.number(), event.name());
            if (event.kind() == Kind.SUBMITTED) {
                called(new Occurrence(operation, calls.merge(operation, 1, Integer::sum)), event.from());
            } else if (event.kind() == Kind.WAITED) {
                Occurrence what = new Occurrence(operation, calls.getOrDefault(operation, 0));
                waits.get(waits.size() - 1).add(new Wait(what, event.from(), event.to()));
            } else if (event.kind() == Kind.STEP) {
                mark(event.from());
            }
        }

        private void called(Occurrence what, long nanos) {
            Arrivals arrival = arrivals.computeIfAbsent(what, first -> new Arrivals());
            arrival.step = Math.max(arrival.step, marked);
            if (nanos > arrival.latest) {
                arrival.latest = nanos;
                arrival.late = rank;
            }
        }

        private void mark(long nanos) {
            if (marked == 0) {
                waits = new ArrayList<>();
            }
            marked++;
            marks.add(nanos);
            waits.add(new ArrayList<>());
        }

        Share finish() {
            Share share = new Share(rank, marks.remove(0), marks.get(0), ranks.size());
            waits.remove(0).forEach(wait -> charge(share, wait));
            return share;
        }

        private void charge(Share share, Wait wait) {
            Arrivals arrival = arrivals.get(wait.what);
            long waiting = arrival == null || arrival.late == rank
                    ? 0
                    : Math.max(0, Math.min(wait.to, arrival.latest) - wait.from);
            if (waiting > 0) {
                share.waiting[arrival.late] += waiting;
            }
            share.exposed += wait.to - wait.from - waiting;
        }
    }
}
