package io.hvd.host.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.host.memory.Layout.Counter;
import io.hvd.host.memory.Places.Place;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SegmentTest {
    private static final int RANKS = 3;

    private final Layout layout = new Layout(RANKS, 256 << 10);
    private final ByteBuffer memory = ByteBuffer.allocateDirect(layout.bytes());
    private final Segment first = new Segment(layout, 0, memory.duplicate());
    private final Segment second = new Segment(layout, 1, memory.duplicate());

    private static List<ByteBuffer> all(Place place) {
        List<ByteBuffer> all = new ArrayList<>(place.stages());
        all.add(place.result());
        return all;
    }

    /** Every buffer gets a value of its own. */
    private static void fill(List<ByteBuffer> buffers, int bytes, int value) {
        for (int i = 0; i < buffers.size(); i++) {
            buffers.get(i).put(0, bytes(bytes, value + i));
        }
    }

    private static void requireFilled(List<ByteBuffer> buffers, int bytes, int value) {
        for (int i = 0; i < buffers.size(); i++) {
            byte[] there = new byte[bytes];
            buffers.get(i).get(0, there);
            assertThat(Arrays.equals(there, bytes(bytes, value + i)))
                    .as("buffer %d", i)
                    .isTrue();
        }
    }

    private static byte[] bytes(int count, int value) {
        byte[] bytes = new byte[count];
        Arrays.fill(bytes, (byte) value);
        return bytes;
    }

    /** A round's bytes last until the next round but one, whatever the rounds have to carry, and its counters always. */
    @ParameterizedTest
    @CsvSource({
        "4, 4",
        "4, 120",
        "120, 121",
        "121, 1024",
        "1024, 8192",
        "8192, 32768",
        "32768, 32769",
        "40000, 4",
        "262144, 8",
        "4, 262144"
    })
    void twoRoundsShareNothing(int bytesOfOne, int bytesOfNext) {
        for (long round = 1; round < 70; round++) {
            for (Segment segment : List.of(first, second)) {
                segment.publish(Counter.PACKED, round);
                segment.publish(Counter.REDUCED, round);
            }
            List<ByteBuffer> one = all(first.place(round, bytesOfOne));
            List<ByteBuffer> next = all(first.place(round + 1, bytesOfNext));
            fill(one, bytesOfOne, 1);
            fill(next, bytesOfNext, 101);

            requireFilled(one, bytesOfOne, 1);
            requireFilled(next, bytesOfNext, 101);
            for (int of = 0; of < 2; of++) {
                for (Counter counter : List.of(Counter.PACKED, Counter.REDUCED)) {
                    assertThat(first.hasCome(counter, of, round)).isTrue();
                    assertThat(first.hasCome(counter, of, round + 2)).isFalse();
                }
                assertThat(first.hasCome(Counter.VETOED, of, 1)).isFalse();
                assertThat(first.hasCome(Counter.VETOED, of, 2)).isFalse();
            }
            assertThat(first.lost()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 120, 121, 1000, 5000, 32768, 32769, 262144})
    void allRanksFindTheSamePlacesWithRoomForEveryByte(int bytes) {
        for (long round = 1; round < 40; round++) {
            fill(all(first.place(round, bytes)), bytes, (int) round);
            requireFilled(all(second.place(round, bytes)), bytes, (int) round);
        }
    }

    /** What a core still holds of the rounds before is not written again at once. */
    @ParameterizedTest
    @CsvSource({"1024, 128", "4096, 32", "16384, 8", "32768, 4", "32769, 2"})
    void fewBytesMoveOnFromRoundToRound(int bytes, int roundsUntilTheSamePlace) {
        ByteBuffer stage = first.place(2, bytes).stages().get(0);
        for (int later = 1; later < roundsUntilTheSamePlace; later++) {
            stage.put(0, (byte) 0);
            first.place(2 + later, bytes).stages().get(0).put(0, (byte) 1);
            assertThat(stage.get(0)).as("%d rounds later", later).isZero();
        }
        first.place(2 + roundsUntilTheSamePlace, bytes).stages().get(0).put(0, (byte) 1);
        assertThat(stage.get(0)).isEqualTo((byte) 1);
    }

    @Test
    void aSmallStageHasRoomForAllOfItsBytes() {
        Layout small = new Layout(RANKS, 4096);
        Segment segment = new Segment(small, 2, ByteBuffer.allocateDirect(small.bytes()));
        for (int bytes = 1; bytes <= 4096; bytes++) {
            for (long round = 1; round < 10; round++) {
                int needed = bytes;
                assertThat(all(segment.place(round, bytes)))
                        .allSatisfy(buffer -> assertThat(buffer.capacity()).isGreaterThanOrEqualTo(needed));
            }
        }
    }

    @Test
    void theMemoryEndsWithTheSecondResult() {
        for (int ranks : new int[] {1, 2, 3, 64}) {
            Layout layout = new Layout(ranks, 8192);
            assertThat(layout.bytes()).isEqualTo(layout.result(1) + layout.stageBytes());
        }
    }
}
