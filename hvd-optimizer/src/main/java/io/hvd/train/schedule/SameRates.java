package io.hvd.train.schedule;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.DoubleUnaryOperator;

/** Refuses schedules that differ between the ranks. */
public final class SameRates {
    /** Places of a training at which the rates are compared. */
    public static final int PLACES = 1024;

    private SameRates() {}

    /** A collective. */
    public static void require(DoubleUnaryOperator schedule, ProcessSet ranks, double epochs) {
        double[] mine = new double[PLACES + 1];
        for (int place = 0; place < PLACES; place++) {
            mine[place] = schedule.applyAsDouble(epochs * place / PLACES);
        }
        mine[PLACES] = epochs;
        double[] all =
                (double[]) ranks.allgather("schedule.rates", Tensor.of(mine)).toArray();
        requireEqual(ranks, all, PLACES, "number of epochs");
        for (int place = 0; place < PLACES; place++) {
            requireEqual(ranks, all, place, "learning rate at epoch " + epochs * place / PLACES);
        }
    }

    private static void requireEqual(ProcessSet ranks, double[] all, int place, String what) {
        Map<Double, TreeSet<Integer>> byValue = new TreeMap<>();
        for (int rank = 0; rank < ranks.size(); rank++) {
            byValue.computeIfAbsent(all[rank * (PLACES + 1) + place], value -> new TreeSet<>())
                    .add(ranks.ranks().get(rank));
        }
        if (byValue.size() > 1) {
            StringBuilder words = new StringBuilder();
            byValue.forEach((value, members) -> words.append(words.isEmpty() ? "" : "; ")
                    .append(value)
                    .append(" on ranks ")
                    .append(members));
            throw new HvdException(
                    ErrorId.DIFFERENT_SETTINGS,
                    "the ranks differ in the " + what + ": " + words + ". Give every rank the same schedule");
        }
    }
}
