package io.hvd.train.loop;

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
 * Each rank's steps and samples of an epoch.
 *
 * @param ranks global ranks
 * @param steps of each of these ranks
 * @param samples of each of these ranks
 */
public record StepCounts(List<Integer> ranks, int[] steps, int[] samples) {
    /** Both numbers travel in one. */
    private static final int SAMPLES_BITS = 32;

    /** A collective; a rank outside of the set is alone. */
    public static StepCounts gather(ProcessSet set, int steps, int samples) {
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

    public int most() {
        return Arrays.stream(steps).max().orElseThrow();
    }

    public int mostSamples() {
        return Arrays.stream(samples).max().orElseThrow();
    }

    public int least() {
        return Arrays.stream(steps).min().orElseThrow();
    }

    /** @throws HvdException with each rank's number and the advice, if they are not the same */
    public void requireEven(String advice) {
        if (most() != least()) {
            throw uneven(advice);
        }
    }

    /** An error that names the ranks by their numbers of steps. */
    public HvdException uneven(String advice) {
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
