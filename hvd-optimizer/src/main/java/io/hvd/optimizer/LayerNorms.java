package io.hvd.optimizer;

import java.util.function.Predicate;

/** What LARS and LAMB ask of each layer. */
final class LayerNorms {
    private LayerNorms() {}

    /** The Euclidean norm, added up in float64. */
    static double of(float[] values) {
        double squares = 0;
        for (float value : values) {
            squares += (double) value * value;
        }
        return Math.sqrt(squares);
    }

    /** For each parameter, whether its name is chosen. */
    static boolean[] chosen(ArrayParameters parameters, Predicate<String> names) {
        boolean[] chosen = new boolean[parameters.count()];
        for (int i = 0; i < chosen.length; i++) {
            chosen[i] = names.test(parameters.list().get(i).name());
        }
        return chosen;
    }
}
