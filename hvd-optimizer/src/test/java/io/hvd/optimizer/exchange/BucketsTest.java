package io.hvd.optimizer.exchange;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.Parameter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class BucketsTest {
    private static final int KIB = 1 << 10;

    @Test
    void parametersAreTakenFromTheLastToTheFirst() {
        Buckets buckets = new Buckets(parametersOf(100, 100, 100, 100, 100), 200);

        assertThat(members(buckets)).containsExactly(List.of(4, 3), List.of(2, 1), List.of(0));
    }

    @Test
    void everyParameterKnowsTheBucketThatHoldsIt() {
        Buckets buckets = new Buckets(parametersOf(4, 400, 4, 4, 400, 4), 300);

        for (int bucket = 0; bucket < buckets.count(); bucket++) {
            for (int parameter : buckets.members(bucket)) {
                assertThat(buckets.bucketOf(parameter)).isEqualTo(bucket);
            }
        }
        assertThat(members(buckets).stream().flatMap(List::stream)).containsExactly(5, 4, 3, 2, 1, 0);
    }

    @Test
    void aBucketIsClosedAsSoonAsItHoldsTheCap() {
        assertThat(members(new Buckets(parametersOf(100, 100, 100), 100)))
                .as("exactly the cap")
                .containsExactly(List.of(2), List.of(1), List.of(0));
        assertThat(members(new Buckets(parametersOf(100, 100, 100), 104)))
                .as("one element short of it")
                .containsExactly(List.of(2, 1), List.of(0));
    }

    @Test
    void aParameterLargerThanTheCapIsNotSplit() {
        Buckets buckets = new Buckets(parametersOf(8, 4000, 8), 16);

        assertThat(members(buckets)).containsExactly(List.of(2, 1), List.of(0));
    }

    @Test
    void parametersWithoutElementsTravelWithTheOthers() {
        assertThat(members(new Buckets(parametersOf(0, 0, 0), 16))).containsExactly(List.of(2, 1, 0));
    }

    @Test
    void theAutomaticCapMakesAboutFourBuckets() {
        int[] sixteen = IntStream.generate(() -> 4 * KIB).limit(16).toArray();

        Buckets buckets = new Buckets(parametersOf(sixteen), 0);

        assertThat(members(buckets))
                .hasSize(4)
                .allSatisfy(members -> assertThat(members).hasSize(4));
    }

    @Test
    void theAutomaticCapDoesNotSplitASmallModel() {
        assertThat(members(new Buckets(parametersOf(512, 512, 512, 512), 0))).hasSize(1);
    }

    @Test
    void theAutomaticCapIsAtMost25MiB() {
        int[] halves = IntStream.generate(() -> 25 * KIB * KIB / 2).limit(16).toArray();

        Buckets buckets = new Buckets(parametersOf(halves), 0);

        assertThat(buckets.count()).as("200 MiB in buckets of 25 MiB").isEqualTo(8);
    }

    private static List<List<Integer>> members(Buckets buckets) {
        return IntStream.range(0, buckets.count()).mapToObj(buckets::members).toList();
    }

    /** Parameters with gradients of so many bytes; all of them lie on one array, since nobody looks at it. */
    private static List<Parameter> parametersOf(int... bytes) {
        float[] memory = new float[IntStream.of(bytes).max().orElse(0) / 4];
        List<Parameter> parameters = new ArrayList<>();
        for (int size : bytes) {
            Tensor tensor = Tensor.wrap(memory, 0, size / 4, DType.FLOAT32, Shape.of(size / 4));
            parameters.add(new Parameter("p" + parameters.size(), tensor, tensor));
        }
        return parameters;
    }
}
