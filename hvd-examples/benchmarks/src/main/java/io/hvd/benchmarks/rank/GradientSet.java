package io.hvd.benchmarks.rank;

import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;

/**
 * The gradients of one step.
 *
 * @param elements number of elements of each gradient, from the first layer to the last
 */
public record GradientSet(String name, List<Integer> elements) {
    /** The gradients of ResNet-50, and 400 small tensors. */
    public static final List<GradientSet> USUAL = List.of(
            new GradientSet("resnet50", ResNet50.parameterSizes()),
            new GradientSet("400x4KiB", Collections.nCopies(400, 1024)));
    /** Those of a model of 268 million parameters, which take a minute and 8 GiB with two ranks. */
    public static final GradientSet LARGE = new GradientSet("64x16MiB", Collections.nCopies(64, 4 << 20));

    public static GradientSet named(String name) {
        return Stream.concat(USUAL.stream(), Stream.of(LARGE))
                .filter(set -> set.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    public int allElements() {
        return elements.stream().mapToInt(Integer::intValue).sum();
    }

    public long bytes() {
        return (long) Float.BYTES * allElements();
    }
}
