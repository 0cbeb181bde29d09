package io.hvd.optimizer.reduce;

import java.util.HashMap;
import java.util.Map;

/** The part of the gradients that compression has left out so far, for each parameter. */
final class ErrorMemory {
    private final Map<String, float[]> byName = new HashMap<>();

    /** The numbers of a parameter, zeros at first; they are changed in place. */
    synchronized float[] of(String name, int elements) {
        return byName.computeIfAbsent(name, fresh -> new float[elements]);
    }

    /** A step has left this out; if a number of it is not finite, what was left out before stays, since it would stay for ever. */
    static void keep(float[] leftOut, float[] errors, int from) {
        if (FloatRows.isFinite(leftOut, 0, leftOut.length)) {
            System.arraycopy(leftOut, 0, errors, from, leftOut.length);
        }
    }

    synchronized float[] copyOf(String name) {
        return byName.getOrDefault(name, new float[0]).clone();
    }

    synchronized long bytes() {
        return byName.values().stream()
                .mapToLong(errors -> Float.BYTES * (long) errors.length)
                .sum();
    }

    synchronized void clear() {
        byName.clear();
    }
}
