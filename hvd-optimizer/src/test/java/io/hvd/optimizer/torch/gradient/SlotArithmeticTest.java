package io.hvd.optimizer.torch.gradient;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.torch.Models;
import io.hvd.optimizer.torch.TorchRuntime;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A model on several devices; the one beside the CPU is LibTorch's meta device, which needs no GPU and has no values. */
class SlotArithmeticTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @Test
    void scalarsOfSeveralDevicesAreStackedPerDevice() {
        List<Tensor> scalars = new ArrayList<>();
        for (float value : new float[] {3, 4, 5}) {
            scalars.add(scalar(value));
            scalars.add(scalar(value).to(new Device("meta"), ScalarType.Float));
        }

        List<TensorVector> found = new ArrayList<>(SlotArithmetic.perDevice(scalars));

        assertThat(found).hasSize(2);
        assertThat(Models.floats(torch.stack(found.get(0)))).containsExactly(3, 4, 5);
        Tensor without = torch.stack(found.get(1));
        assertThat(without.size(0)).isEqualTo(3);
        assertThat(without.device().str().getString()).isEqualTo("meta");
    }

    private static Tensor scalar(float value) {
        return Models.tensor(value).sum();
    }
}
