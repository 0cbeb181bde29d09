package io.hvd.timeline;

import io.hvd.timeline.TimelineEvent.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Splits every training step of every rank into computing, exposed communication, and waiting
 * for other ranks. It takes the ranks' events in the time of one clock, each rank's events in their order. It uses no
 * thread and no clock of its own, so the same events always give the same steps.
 *
 * <p>The n-th call of a tensor's operation on one rank belongs to the n-th call on the other ranks. The rank
 * that calls last is the late one. If a thread of the user is in {@code synchronize()}, the time
 * before the late rank's call is waiting for that rank, and the rest is exposed communication. The
 * remaining time of the step is computing, which includes loading data.
 *
 * <pre>
 * rank 0   compute | synchronize: waiting ..........| exposed communication |
 * rank 2   compute ................................ | exposed communication |
 *                                                   ^ the late call
 * </pre>
 */
final class StepSplit {
    /** A rank is late in a step if the others wait for it, on average, for at least this share of the step. */
    static final double LATE_SHARE = 0.05;

    /** The most unfinished steps that are kept, because a rank that has joined does not mark steps any more. */
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
     * @param number number of the step, from 1; the time before a rank's first mark belongs to no step
     */
    record Step(int number, List<Share> ranks) {
        /** The late rank, if there is one. */
        Optional<Integer> lateRank() {
            int late = 0;
            for (int rank = 1; rank < waitingByRank().length; rank++) {
                late = waitingByRank()[rank] > waitingByRank()[late] ? rank : late;
            }
            double mean = waitingByRank()[late] / Math.max(1.0, ranks.size() - 1);
            return mean > 0 && mean >= LATE_SHARE * meanNanos() ? Optional.of(late) : Optional.empty();
        }

        /** The time that all other ranks together have waited for each rank. */
        long[] waitingByRank() {
            long[] sums = new long[ranks.get(0).waiting.length];
            ranks.forEach(share -> IntStream.range(0, sums.length).forEach(rank -> sums[rank] += share.waiting[rank]));
            return sums;
        }

        /** The part of the others' average wait for a rank that pauses of its garbage collector explain, beyond their own. */
        double collectorNanos(int late) {
            double others = ranks.stream()
                    .filter(share -> share.rank != late)
                    .mapToLong(share -> share.paused)
                    .average()
                    .orElse(0);
            double own = ranks.stream()
                    .filter(share -> share.rank == late)
                    .mapToLong(share -> share.paused)
                    .sum();
            double waited = waitingByRank()[late] / Math.max(1.0, ranks.size() - 1);
            return Math.max(0, Math.min(waited, own - others));
        }

        double meanNanos() {
            return ranks.stream().mapToLong(Share::nanos).average().orElse(0);
        }
    }

    /** The times of one rank in one step. */
    static final class Share {
        private final int rank;
        private final long from;
        private final long to;
        private final long[] waiting;
        private long exposed;
        private long paused;

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

        /** The computing time, at least 0: several threads may wait at once, together for longer than the step. */
        long computeNanos() {
            return Math.max(0, nanos() - exposed - waitingNanos());
        }
    }

    /** Adds the events of a rank; returns the steps that all ranks have now finished. */
    List<Step> add(int rank, List<TimelineEvent> events) {
        events.forEach(event -> ranks.get(rank).take(event));
        List<Step> steps = new ArrayList<>();
        while (ranks.stream().allMatch(Progress::hasStep)
                || ranks.stream().anyMatch(progress -> progress.marks.size() > MOST_UNFINISHED)) {
            steps.add(finish());
        }
        return steps;
    }

    /** The steps that some ranks have not finished, and will not finish any more. */
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

    /** The last call of an operation on any rank: its time, its rank, and the step of that rank. */
    private static final class Arrivals {
        long latest = Long.MIN_VALUE;
        int late;
        int step;
    }

    private record Pause(long from, long to) {}

    private record Wait(Occurrence what, long from, long to) {}

    /** A rank's marks and waits that do not belong to a finished step yet. */
    private final class Progress {
        private final int rank;
        private final Map<Operation, Integer> calls = new HashMap<>();
        private final List<Long> marks = new ArrayList<>();
        private List<List<Wait>> waits = new ArrayList<>(List.of(new ArrayList<>()));
        private final List<Pause> pauses = new ArrayList<>();
        private int marked;

        Progress(int rank) {
            this.rank = rank;
        }

        boolean hasStep() {
            return marks.size() > 1;
        }

        void take(TimelineEvent event) {
            Operation operation = new Operation(event.processSet(), event.name());
            if (event.kind() == Kind.SUBMITTED) {
                called(new Occurrence(operation, calls.merge(operation, 1, Integer::sum)), event.from());
            } else if (event.kind() == Kind.WAITED) {
                Occurrence what = new Occurrence(operation, calls.getOrDefault(operation, 0));
                waits.get(waits.size() - 1).add(new Wait(what, event.from(), event.to()));
            } else if (event.kind() == Kind.PAUSED) {
                pauses.add(new Pause(event.from(), event.to()));
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
            for (Pause pause : pauses) {
                share.paused += Math.max(0, Math.min(pause.to, share.to) - Math.max(pause.from, share.from));
            }
            pauses.removeIf(pause -> pause.to <= share.to);
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
