package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.bytedeco.pytorch.global.torch.is_autocast_enabled;
import static org.bytedeco.pytorch.global.torch.mse_loss;

import io.hvd.error.ErrorId;
import java.util.concurrent.CompletableFuture;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** LibTorch computes in 16 bits on the CPU, inside of a scope and nowhere else. */
@Timeout(60)
class AutocastTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private static ScalarType typeOfAProduct() {
        Tensor x = Models.inputs(0, 4);
        ScalarType type = x.matmul(x.t()).scalar_type().intern();
        assertThat(x.scalar_type().intern()).isEqualTo(ScalarType.Float);
        return type;
    }

    @ParameterizedTest
    @EnumSource(
            value = ScalarType.class,
            names = {"BFloat16", "Half"})
    void productsOfMatricesAreInTheNarrowTypeInsideAndInFloat32Outside(ScalarType type) {
        assertThat(typeOfAProduct()).isEqualTo(ScalarType.Float);
        try (Autocast narrow = Autocast.to(type, DeviceType.CPU)) {
            assertThat(typeOfAProduct()).isEqualTo(type);
            try (Autocast wide = Autocast.off(DeviceType.CPU)) {
                assertThat(typeOfAProduct()).isEqualTo(ScalarType.Float);
            }
            assertThat(typeOfAProduct()).isEqualTo(type);
        }
        assertThat(typeOfAProduct()).isEqualTo(ScalarType.Float);
    }

    /** 1 + 2^-12 is 1 with bfloat16's eight bits. */
    @Test
    void theNumbersAreReallyRounded() {
        Tensor one = Models.tensor(1 + 0x1p-12f).reshape(1, 1);
        try (Autocast narrow = Autocast.to(ScalarType.BFloat16, DeviceType.CPU)) {
            assertThat(one.matmul(one).item_float()).isEqualTo(1);
        }
        assertThat(one.matmul(one).item_float()).isGreaterThan(1);
    }

    @Test
    void anInnerScopeMayHaveAnotherType() {
        try (Autocast outer = Autocast.to(ScalarType.BFloat16, DeviceType.CPU)) {
            try (Autocast inner = Autocast.to(ScalarType.Half, DeviceType.CPU)) {
                assertThat(typeOfAProduct()).isEqualTo(ScalarType.Half);
            }
            assertThat(typeOfAProduct()).isEqualTo(ScalarType.BFloat16);
        }
    }

    /** LibTorch keeps the narrow copy of a parameter while a scope is open; later ones must see what the step has made. */
    @Test
    void gradientsAreInFloat32AndTheNextScopeSeesTheSteppedParameters() {
        Models.Net net = new Models.Net(7);
        SGD sgd = new SGD(net.parameters(), new SGDOptions(0.5));
        float[] losses = new float[20];
        for (int step = 0; step < losses.length; step++) {
            sgd.zero_grad();
            Tensor loss;
            try (Autocast narrow = Autocast.to(ScalarType.BFloat16, DeviceType.CPU)) {
                Tensor output = net.forward(Models.inputs(0, 8));
                assertThat(output.scalar_type().intern()).isEqualTo(ScalarType.BFloat16);
                loss = mse_loss(output, Models.targets(0, 8));
            }
            assertThat(loss.scalar_type().intern()).isEqualTo(ScalarType.Float);
            loss.backward();
            assertThat(net.dense1.weight().grad().scalar_type().intern()).isEqualTo(ScalarType.Float);
            sgd.step();
            losses[step] = loss.item_float();
        }
        assertThat(losses[losses.length - 1]).isLessThan(losses[0] / 2);
    }

    @Test
    void itHoldsForItsThreadOnlyAndMustBeClosedThere() {
        try (Autocast narrow = Autocast.to(ScalarType.BFloat16, DeviceType.CPU)) {
            String refusal = CompletableFuture.supplyAsync(() -> {
                        assertThat(typeOfAProduct()).isEqualTo(ScalarType.Float);
                        try {
                            narrow.close();
                            return "closed";
                        } catch (RuntimeException e) {
                            return e.getMessage();
                        }
                    })
                    .join();
            assertThat(refusal)
                    .contains(
                            ErrorId.BAD_ARGUMENT.code(), Thread.currentThread().getName(), "is closed by thread");
            assertThat(typeOfAProduct()).isEqualTo(ScalarType.BFloat16);
        }
    }

    @Test
    void scopesCloseFromTheInsideOut() {
        Autocast outer = Autocast.to(ScalarType.BFloat16, DeviceType.CPU);
        Autocast inner = Autocast.off(DeviceType.CPU);
        assertThatThrownBy(outer::close)
                .hasMessageContaining("Autocast scope 1 is closed while scope 2 inside of it is still open");
        inner.close();
        outer.close();
        outer.close();
        assertThat(is_autocast_enabled(DeviceType.CPU)).isFalse();
    }

    @Test
    void otherTypesAndDevicesWithoutAutocastAreRefused() {
        assertThatThrownBy(() -> Autocast.to(ScalarType.Float, DeviceType.CPU))
                .hasMessageContaining(ErrorId.BAD_ARGUMENT.code())
                .hasMessageContainingAll("Float", "BFloat16", "Half");
        assertThatThrownBy(() -> Autocast.to(ScalarType.BFloat16, DeviceType.FPGA))
                .hasMessageContaining(ErrorId.UNSUPPORTED.code())
                .hasMessageContaining("FPGA");
        assertThat(typeOfAProduct()).isEqualTo(ScalarType.Float);
    }
}
