package io.hvd.optimizer.arrays;

import io.hvd.optimizer.Parameter;
import java.util.List;
import java.util.function.Predicate;

/** The norms that LARS and LAMB ask of each layer. */
public final class LayerNorms {
    private LayerNorms() {}

    /** The Euclidean norm, added up in float64. */
    public static double of(float[] values) {
        double squares = 0;
        for (float value : values) {
            squares += (double) value * value;
        }
        return Math.sqrt(squares);
    }

    /** For each parameter, whether its name is chosen. */
    public static boolean[] chosen(List<Parameter> parameters, Predicate<String> names) {
        boolean[] chosen = new boolean[parameters.size()];
        for (int i = 0; i < chosen.length; i++) {
            chosen[i] = names.test(parameters.get(i).name());
        }
        return chosen;
    }
}
