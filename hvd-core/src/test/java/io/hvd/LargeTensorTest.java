package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.SplitMemory;
import io.hvd.tensor.Tensor;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tensors of a little more than 2^31 bytes. */
@Tag("long")
@Timeout(300)
class LargeTensorTest {
    @Test
    void anArrayOfMoreBytesThanAnIntegerCountsIsReducedToItsLastElement() throws Exception {
        long[] values = new long[(1 << 28) + 5];
        int last = values.length - 1;
        values[0] = 3;
        values[last] = 5;
        Hvd.spawn(1, hvd -> {
            hvd.allreduceInPlace(
                    "large.array", Tensor.of(values), AllreduceOptions.sum().withPostscale(2));
            return null;
        });
        assertThat(new long[] {values[0], values[1], values[last - 1], values[last]})
                .containsExactly(6, 0, 0, 10);
    }

    @Test
    void aTensorOfMoreElementsThanAnArrayHoldsIsReducedToItsLastElement() throws Exception {
        long elements = (1L << 31) + 16;
        Hvd.spawn(2, hvd -> {
            Tensor tensor = Tensor.zeros(DType.UINT8, Shape.of(elements));
            assertThat(tensor.memory()).isInstanceOf(SplitMemory.class);
            long border = Integer.MAX_VALUE & -8;
            byte mark = (byte) (hvd.rank() + 1);
            for (long at : new long[] {0, border - 1, elements - 2}) {
                tensor.hostMemory().write(DType.UINT8, at, new byte[] {mark, 10}, 2);
            }
            hvd.allreduceInPlace("large.split", tensor, AllreduceOptions.sum());
            for (long at : new long[] {0, border - 1, elements - 2}) {
                byte[] read = new byte[2];
                tensor.hostMemory().read(DType.UINT8, at, read, 2);
                assertThat(read).as("at element %d", at).containsExactly(3, 20);
            }
            return null;
        });
    }

    @Test
    void aParameterOfMoreElementsThanAnArrayHoldsIsBroadcastToItsLastElement() throws Exception {
        long elements = (1L << 31) + 16;
        Hvd.spawn(2, hvd -> {
            Tensor tensor = Tensor.zeros(DType.UINT8, Shape.of(elements));
            long border = Integer.MAX_VALUE & -8;
            for (long at : new long[] {0, border - 1, elements - 2}) {
                byte[] marks = hvd.rank() == 1 ? new byte[] {7, 8} : new byte[2];
                tensor.hostMemory().write(DType.UINT8, at, marks, 2);
            }
            hvd.broadcastParameters(Map.of("embedding", tensor), 1);
            for (long at : new long[] {0, border - 1, elements - 2}) {
                byte[] read = new byte[2];
                tensor.hostMemory().read(DType.UINT8, at, read, 2);
                assertThat(read).as("at element %d", at).containsExactly(7, 8);
            }
            return null;
        });
    }
}
