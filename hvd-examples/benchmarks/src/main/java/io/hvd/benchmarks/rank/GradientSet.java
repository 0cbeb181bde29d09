package io.hvd.benchmarks.rank;

import java.util.Collections;
import java.util.List;

/**
 * The gradients of one step.
 *
 * @param elements number of elements of each gradient, from the first layer to the last
 */
public record GradientSet(String name, List<Integer> elements) {
    /** The gradients of ResNet-50, and 400 small tensors. */
    public static final List<GradientSet> ALL = List.of(
            new GradientSet("resnet50", ResNet50.parameterSizes()),
            new GradientSet("400x4KiB", Collections.nCopies(400, 1024)));

    public static GradientSet named(String name) {
        return ALL.stream().filter(set -> set.name().equals(name)).findFirst().orElseThrow();
    }

    public int allElements() {
        return elements.stream().mapToInt(Integer::intValue).sum();
    }

    public long bytes() {
        return (long) Float.BYTES * allElements();
    }
}
