package io.hvd.train;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * How much each rank has to do in an epoch.
 *
 * @param ranks global ranks
 * @param steps of each of these ranks
 * @param samples of each of these ranks
 */
record StepCounts(List<Integer> ranks, int[] steps, int[] samples) {
    /** Both numbers travel in one. */
    private static final int SAMPLES_BITS = 32;

    /** A collective; a rank outside of the set is alone. */
    static StepCounts gather(ProcessSet set, int steps, int samples) {
        if (!set.included() || set.size() == 1) {
            return new StepCounts(List.of(0), new int[] {steps}, new int[] {samples});
        }
        long mine = (long) steps << SAMPLES_BITS | samples;
        long[] all = (long[])
                set.allgather("epoch.steps", Tensor.of(new long[] {mine})).toArray();
        return new StepCounts(
                set.ranks(),
                Arrays.stream(all)
                        .mapToInt(both -> (int) (both >> SAMPLES_BITS))
                        .toArray(),
                Arrays.stream(all).mapToInt(both -> (int) both).toArray());
    }

    int most() {
        return Arrays.stream(steps).max().orElseThrow();
    }

    int mostSamples() {
        return Arrays.stream(samples).max().orElseThrow();
    }

    private int least() {
        return Arrays.stream(steps).min().orElseThrow();
    }

    /**
     * @param mine number of steps of this rank
     * @return the number that it is to make
     */
    int agreed(UnevenSteps how, int mine) {
        if (most() == least() || how == UnevenSteps.JOIN) {
            return mine;
        }
        if (how == UnevenSteps.REFUSE) {
            throw uneven("A rank with more steps would wait for the others for ever: choose UnevenSteps.PAD, DROP or"
                    + " JOIN, or deal the samples out evenly, as DistributedSampler does");
        }
        if (least() == 0) {
            throw uneven(
                    how == UnevenSteps.PAD
                            ? "UnevenSteps.PAD has no sample to repeat on a rank with 0 steps: choose JOIN"
                            : "UnevenSteps.DROP would leave out the whole epoch: choose JOIN");
        }
        return how == UnevenSteps.PAD ? most() : least();
    }

    /** @throws HvdException with each rank's number and the advice, if they are not the same */
    void requireEven(String advice) {
        if (most() != least()) {
            throw uneven(advice);
        }
    }

    private HvdException uneven(String advice) {
        TreeMap<Integer, TreeSet<Integer>> ranksBySteps = new TreeMap<>();
        for (int place = 0; place < steps.length; place++) {
            ranksBySteps.computeIfAbsent(steps[place], count -> new TreeSet<>()).add(ranks.get(place));
        }
        return new HvdException(
                ErrorId.UNEVEN_STEPS,
                "the ranks differ in the number of steps of this epoch: "
                        + ranksBySteps.entrySet().stream()
                                .map(entry -> entry.getKey() + " on ranks " + entry.getValue())
                                .collect(Collectors.joining("; "))
                        + ". " + advice);
    }
}
