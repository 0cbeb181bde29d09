package io.hvd.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.DType;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ViewsTest {
    private final Views views = Views.ofPlaces();

    private static List<ByteBuffer> buffers(int number) {
        List<ByteBuffer> buffers = new ArrayList<>();
        for (int i = 0; i < number; i++) {
            buffers.add(ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder()));
        }
        return buffers;
    }

    private List<Buffer> of(List<ByteBuffer> buffers, DType type) {
        return buffers.stream().map(buffer -> views.of(buffer, type)).toList();
    }

    /** Messages of 1 KiB on eight ranks go through 64 places in each of two rounds, with a stage of each rank and a result. */
    @Test
    void theViewsOfAllPlacesOfSmallMessagesAreKept() {
        List<ByteBuffer> buffers = buffers(64 * 2 * 9);

        List<Buffer> first = of(buffers, DType.FLOAT32);
        List<Buffer> again = of(buffers, DType.FLOAT32);

        for (int i = 0; i < buffers.size(); i++) {
            assertThat(again.get(i)).isSameAs(first.get(i));
        }
    }

    /** The garbage collector can then free a buffer of the user's soon. */
    @Test
    void ofOtherBuffersFewAreKept() {
        Views few = Views.few();
        ByteBuffer first = buffers(1).get(0);
        Buffer view = few.of(first, DType.FLOAT32);
        assertThat(few.of(first, DType.FLOAT32)).isSameAs(view);

        buffers(8).forEach(buffer -> few.of(buffer, DType.FLOAT32));

        assertThat(few.of(first, DType.FLOAT32)).isNotSameAs(view);
    }

    @Test
    void aBufferHasAViewOfEachType() {
        ByteBuffer buffer = buffers(1).get(0);
        buffer.putFloat(4, 1.5f);

        assertThat(((FloatBuffer) views.of(buffer, DType.FLOAT32)).get(1)).isEqualTo(1.5f);
        assertThat(((IntBuffer) views.of(buffer, DType.INT32)).get(1)).isEqualTo(Float.floatToIntBits(1.5f));
    }

    /** Buffers that are made anew for every call are dropped from time to time, and each still has a view of its own. */
    @Test
    void moreBuffersThanAreKeptHaveTheirOwnViews() {
        List<ByteBuffer> buffers = buffers(20_000);
        for (int i = 0; i < buffers.size(); i++) {
            buffers.get(i).putInt(0, i);
        }

        for (int i = 0; i < buffers.size(); i++) {
            assertThat(((IntBuffer) views.of(buffers.get(i), DType.INT32)).get(0))
                    .isEqualTo(i);
            assertThat(((IntBuffer) views.of(buffers.get(0), DType.INT32)).get(0))
                    .isZero();
        }
    }
}
