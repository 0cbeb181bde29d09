package io.hvd.benchmarks.rank;

import java.util.Collections;
import java.util.List;

/**
 * The gradients of one step.
 *
 * @param elements of each, from the first layer to the last
 */
public record GradientBag(String name, List<Integer> elements) {
    /** The gradients of ResNet-50, and 400 small ones. */
    public static final List<GradientBag> ALL = List.of(
            new GradientBag("resnet50", ResNet50.parameterSizes()),
            new GradientBag("400x4KiB", Collections.nCopies(400, 1024)));

    public static GradientBag named(String name) {
        return ALL.stream().filter(bag -> bag.name().equals(name)).findFirst().orElseThrow();
    }

    public int allElements() {
        return elements.stream().mapToInt(Integer::intValue).sum();
    }

    public long bytes() {
        return (long) Float.BYTES * allElements();
    }
}
