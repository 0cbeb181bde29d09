package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;

class BatchPartTest {
    @Test
    void partsAreAboutEquallyLargeAndKeepTheOrder() {
        assertThat(BatchPart.of(10, 4)).containsExactly(new BatchPart(0, 3), new BatchPart(3, 3), new BatchPart(6, 4));
    }

    @Test
    void aSmallBatchIsItsOnlyPart() {
        assertThat(BatchPart.of(4, 4)).containsExactly(new BatchPart(0, 4));
    }

    @Test
    void aPartHasItsSamplesOfATensor() {
        try (PointerScope scope = new PointerScope()) {
            Tensor batch = Tensor.create(new float[] {0, 10, 1, 11, 2, 12, 3, 13}, 4, 2);
            float[] found = new float[4];
            Tensor part = new BatchPart(1, 2).of(batch);
            part.contiguous().data_ptr_float().get(found);

            assertThat(part.sizes().vec().get()).containsExactly(2, 2);
            assertThat(found).containsExactly(1, 11, 2, 12);
        }
    }
}
