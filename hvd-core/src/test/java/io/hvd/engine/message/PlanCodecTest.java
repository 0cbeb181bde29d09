package io.hvd.engine.message;

import static io.hvd.engine.message.Requests.wants;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.OpKind;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PlanCodecTest {
    private static Announcement roundTrip(Announcement announcement) {
        return PlanCodec.decodeAnnouncement(PlanCodec.encode(announcement));
    }

    private static Plan roundTrip(Plan plan) {
        return PlanCodec.decodePlan(PlanCodec.encode(plan));
    }

    @Test
    void requestsOfEveryKindArriveAsTheyWere() throws ReflectiveOperationException {
        List<Request> requests = new Samples().of(Request.class, 500);
        assertThat(roundTrip(wants(requests)).wishes().get(0).fresh()).isEqualTo(requests);
    }

    @Test
    void everyKindOfOperationHasARequestOfItsOwn() throws ReflectiveOperationException {
        assertThat(new Samples().of(Request.class, 1))
                .extracting(Request::kind)
                .containsExactlyInAnyOrder(OpKind.values());
    }

    @Test
    void shapesOfAnyNumberOfDimensionsArriveAsTheyWere() {
        for (Shape shape : List.of(Shape.scalar(), Shape.of(0), Shape.of(7), Shape.of(1, 2, 3, 4, 5, 6, 7, 8))) {
            Request request = Requests.allreduce("x", DType.INT8, shape, ReduceOp.MIN);
            assertThat(roundTrip(wants(request)).wishes().get(0).fresh()).containsExactly(request);
        }
    }

    @Test
    void extremeFactorsArriveBitByBit() {
        for (double factor : new double[] {Double.MIN_VALUE, -0.0, Double.NaN, Double.NEGATIVE_INFINITY, 1.0 / 3}) {
            Request request = Requests.scaled("x", factor, -factor);
            assertThat(roundTrip(wants(request)).wishes().get(0).fresh()).containsExactly(request);
        }
    }

    @Test
    void closingFailureAndTheEndArriveEachOnItsOwn() {
        for (boolean closing : new boolean[] {true, false}) {
            for (String failure : List.of("", "rank 3: no space left")) {
                for (boolean done : new boolean[] {true, false}) {
                    Announcement announcement = new Announcement(List.of(), closing, failure, done);
                    assertThat(roundTrip(announcement)).isEqualTo(announcement);
                }
            }
        }
    }

    @Test
    void textsBeyond64KibAndOutsideAsciiArriveWhole() {
        String text = "Schicht→\uD83D\uDE00".repeat(20_000);
        Announcement announcement =
                new Announcement(wants(Requests.sum(text, 4)).wishes(), false, text);
        assertThat(roundTrip(announcement)).isEqualTo(announcement);
        Plan plan = new Plan(
                7, List.of(new Batch.Refusal(text, Batch.Reason.MISMATCH, text, List.of())), List.of(), false, text);
        assertThat(roundTrip(plan)).isEqualTo(plan);
    }

    @Test
    void batchesOfEveryKindArriveAsTheyWere() throws ReflectiveOperationException {
        List<Batch> batches = new Samples().of(Batch.class, 100);
        for (boolean stop : new boolean[] {true, false}) {
            for (String failure : List.of("", "rank 1 is gone")) {
                Plan plan = new Plan(3, batches, List.of(List.of("a", "b"), List.of("c")), stop, failure);
                assertThat(roundTrip(plan)).isEqualTo(plan);
            }
        }
        Plan tuned = new Plan(0, List.of(), List.of(), false, "")
                .with(Optional.of(new Tuning(new Tunable(1L << 40, 2_500_000, 1L << 33, 1), "a result")));
        assertThat(roundTrip(tuned)).isEqualTo(tuned);
        Plan empty = new Plan(0, List.of(), List.of(), false, "");
        assertThat(roundTrip(empty)).isEqualTo(empty);
    }

    @Test
    void manyRequestsAndLongBatchesArriveInOrder() {
        List<Reducing.Allreduce> requests = IntStream.range(0, 20_000)
                .mapToObj(i -> Requests.sum("parameter." + i, 4L * i))
                .toList();
        assertThat(roundTrip(wants(List.copyOf(requests))).wishes().get(0).fresh())
                .isEqualTo(requests);
        List<Plan.Op> ops =
                requests.stream().map(request -> Plan.Op.named(request.name())).toList();
        Plan plan = new Plan(0, List.of(new Batch.Allreduce(ops, 1)), List.of(), true, "");
        assertThat(roundTrip(plan)).isEqualTo(plan);
    }

    /** The receiving rank knows the name itself. */
    @Test
    void aKnownOperationTravelsAsItsNumberAlone() {
        Batch known = new Batch.Allreduce(List.of(new Plan.Op("a.long.name", 4711)), 2);
        assertThat(roundTrip(new Plan(1, List.of(known), List.of(), false, "")).batches())
                .containsExactly(new Batch.Allreduce(List.of(new Plan.Op("", 4711)), 2));
    }

    @Test
    void anyBitsOfTheResponseCacheArrive() {
        for (int[] bits : new int[][] {{}, {0}, {63, 64}, {1_000_000, 1_000_007}, {5, 5_000}}) {
            BitSet known = new BitSet();
            for (int bit : bits) {
                known.set(bit);
            }
            var wishes = new Announcement.Wishes(3, 2, 1L << 35, known, List.of(), List.of("A.b(A.java:1)"));
            Announcement announcement = new Announcement(List.of(wishes), true, "");
            assertThat(roundTrip(announcement)).isEqualTo(announcement);
        }
    }

    @Test
    void readsBetweenPositionAndLimitOfAnyBuffer() {
        Plan plan = new Plan(
                0, List.of(new Batch.Refusal("g", Batch.Reason.RANK_GONE, "why", List.of(0))), List.of(), false, "");
        ByteBuffer encoded = PlanCodec.encode(plan);
        ByteBuffer inside = ByteBuffer.allocateDirect(encoded.remaining() + 9);
        inside.position(5).put(encoded).flip().position(5);
        assertThat(PlanCodec.decodePlan(inside)).isEqualTo(plan);
        assertThat(inside.hasRemaining()).isFalse();
    }
}
