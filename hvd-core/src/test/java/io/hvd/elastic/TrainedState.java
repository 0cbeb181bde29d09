package io.hvd.elastic;

import java.util.Arrays;
import java.util.List;

/**
 * What a worker has trained: how many steps its state has seen, how far its sampler has come, how often each sample was
 * counted, and a hash of the whole history. Arrays of it are never written into.
 */
record TrainedState(long step, int position, int[] counts, long hash) {
    /** The samples that one rank contributes to a step. */
    record Share(int from, int to) {}

    /** The samples of all epochs, the epochs' length, and how many of them a rank takes in a step. */
    record Course(int samples, int epoch, int batch) {
        TrainedState beginning() {
            return new TrainedState(0, 0, new int[samples], 17);
        }

        private int endOfStep(int position, int size) {
            int endOfEpoch = Math.min(samples, (position / epoch + 1) * epoch);
            return Math.min(endOfEpoch, position + size * batch);
        }
    }

    boolean isDone(Course course) {
        return position >= course.samples();
    }

    Share share(Course course, int rank, int size) {
        int end = course.endOfStep(position, size);
        return new Share(
                Math.min(end, position + rank * course.batch()), Math.min(end, position + (rank + 1) * course.batch()));
    }

    /** The state after a step in which the ranks of a generation have contributed these samples. */
    TrainedState after(Course course, int generation, List<Share> shares) {
        int[] counted = counts.clone();
        long mixed = hash * 31 + generation;
        for (Share share : shares) {
            for (int sample = share.from(); sample < share.to(); sample++) {
                counted[sample]++;
            }
            mixed = mixed * 1_000_003 + share.from() * 31L + share.to();
        }
        return new TrainedState(step + 1, course.endOfStep(position, shares.size()), counted, mixed);
    }

    boolean hasCountedEachSampleOnce() {
        return Arrays.stream(counts).allMatch(count -> count == 1);
    }

    boolean isSameAs(TrainedState other) {
        return step == other.step && hash == other.hash && position == other.position;
    }
}
