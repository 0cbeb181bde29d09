package io.hvd.engine.coordination;

import static io.hvd.engine.message.Requests.broadcast;
import static io.hvd.engine.message.Requests.sum;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class FusionPlannerTest {
    private static final long PLENTY = 1 << 20;

    private static List<List<String>> fuse(long threshold, Request... ready) {
        return FusionPlanner.fuse(Stream.of(ready).map(FusionPlannerTest::tally).toList(), threshold).stream()
                .map(fused -> fused.tallies().stream().map(Tally::name).toList())
                .toList();
    }

    private static Tally tally(Request request) {
        Tally tally = new Tally(1, 0);
        tally.set(0, request, Plan.Op.UNKNOWN);
        return tally;
    }

    @Test
    void whatIsAlikeTravelsTogetherInTheOrderInWhichItBecameReady() {
        assertThat(fuse(PLENTY, sum("c", 4), sum("a", 400), sum("b", 0))).containsExactly(List.of("c", "a", "b"));
    }

    /** Each differs from the plain sum {@code a} of four floats in one thing. */
    static Stream<Request> strangers() {
        return Stream.of(
                Requests.allreduce("b", DType.INT32, Shape.of(4), ReduceOp.SUM),
                Requests.allreduce("b", DType.FLOAT32, Shape.of(4), ReduceOp.MAX),
                Requests.wired("b", DType.FLOAT16),
                Requests.scaled("b", 2, 1),
                Requests.scaled("b", 1, 2),
                Requests.sum("b", 16).on(Device.cuda(0)),
                broadcast("b", 0, 4));
    }

    @ParameterizedTest
    @MethodSource("strangers")
    void whatDiffersInTypeOperationScaleOrDeviceTravelsAlone(Request stranger) {
        assertThat(fuse(PLENTY, sum("a", 16), stranger)).containsExactly(List.of("a"), List.of("b"));
    }

    @Test
    void broadcastsFuseWhenTheirRootIsTheSame() {
        assertThat(fuse(PLENTY, broadcast("a", 0, 4), broadcast("b", 1, 4), broadcast("c", 0, 9), broadcast("d", 1)))
                .containsExactly(List.of("a", "c"), List.of("b", "d"));
    }

    @Test
    void shapesNeedNotBeAlike() {
        assertThat(fuse(
                        PLENTY,
                        Requests.allreduce("a", DType.FLOAT32, Shape.of(2, 3), ReduceOp.SUM),
                        Requests.allreduce("b", DType.FLOAT32, Shape.scalar(), ReduceOp.SUM)))
                .containsExactly(List.of("a", "b"));
    }

    @Test
    void looksPastWhatDoesNotMatch() {
        Request stranger = Requests.allreduce("int", DType.INT32, Shape.of(4), ReduceOp.SUM);
        assertThat(fuse(PLENTY, sum("a", 16), stranger, sum("b", 16)))
                .containsExactly(List.of("a", "b"), List.of("int"));
    }

    @Test
    void aBatchHoldsExactlyTheThresholdAndNotAByteMore() {
        assertThat(fuse(100, sum("a", 60), sum("b", 40))).containsExactly(List.of("a", "b"));
        assertThat(fuse(99, sum("a", 60), sum("b", 40))).containsExactly(List.of("a"), List.of("b"));
    }

    @Test
    void whatNoLongerFitsOpensTheNextBatchAndSmallerOnesFillTheGap() {
        assertThat(fuse(100, sum("a", 80), sum("b", 40), sum("c", 20), sum("d", 60)))
                .containsExactly(List.of("a", "c"), List.of("b", "d"));
    }

    @Test
    void oneThatIsLargerThanTheThresholdTravelsAlone() {
        assertThat(fuse(100, sum("a", 40), sum("big", 400), sum("b", 40)))
                .containsExactly(List.of("a", "b"), List.of("big"));
    }

    @Test
    void theThresholdCountsBytesAsTheyTravel() {
        // Four floats are 16 bytes, but 8 on a 16-bit wire.
        assertThat(fuse(16, Requests.wired("a", DType.FLOAT16), Requests.wired("b", DType.FLOAT16)))
                .containsExactly(List.of("a", "b"));
        assertThat(fuse(16, Requests.wired("a", DType.FLOAT32), Requests.wired("b", DType.FLOAT32)))
                .containsExactly(List.of("a"), List.of("b"));
    }

    @Test
    void aThresholdOfZeroSwitchesFusionOffForEmptyTensorsToo() {
        assertThat(fuse(0, sum("a", 4), sum("b", 4), sum("empty1", 0), sum("empty2", 0)))
                .containsExactly(List.of("a"), List.of("b"), List.of("empty1"), List.of("empty2"));
    }

    @Test
    void nothingReadyIsNoBatch() {
        assertThat(fuse(PLENTY)).isEmpty();
    }

    @Test
    void everyTensorTravelsExactlyOnce() {
        Request[] ready = IntStream.range(0, 500)
                .mapToObj(i -> i % 3 == 0 ? broadcast("t" + i, i % 2, i) : sum("t" + i, (i % 50) * 4L))
                .toArray(Request[]::new);
        assertThat(fuse(256, ready).stream().flatMap(List::stream))
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, 500).mapToObj(i -> "t" + i).toList());
    }
}
