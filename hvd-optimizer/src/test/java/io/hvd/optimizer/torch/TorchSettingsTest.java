package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.parameter.TorchSettings;
import java.util.function.Function;
import org.bytedeco.pytorch.Adagrad;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.RMSprop;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class TorchSettingsTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @Test
    void theOptionsOfEachKindAreRead() {
        SGDOptions sgd = Models.sgd(0.05);
        sgd.momentum().put(0.9);
        sgd.nesterov().put(true);
        AdamWOptions adamW = new AdamWOptions(0.001);
        adamW.amsgrad().put(true);

        assertThat(TorchSettings.of(new SGD(new Models.Net(7).parameters(), sgd)))
                .containsEntry("optimizer", "SGD")
                .containsEntry("learning rate", "0.05")
                .containsEntry("momentum", "0.9")
                .containsEntry("nesterov", "true")
                .containsEntry("parameter groups", "1");
        assertThat(TorchSettings.of(new Adam(new Models.Net(7).parameters())))
                .containsEntry("beta1", "0.9")
                .containsEntry("beta2", "0.999")
                .containsEntry("epsilon", "1.0E-8")
                .containsEntry("amsgrad", "false");
        assertThat(TorchSettings.of(new AdamW(new Models.Net(7).parameters(), adamW)))
                .containsEntry("optimizer", "AdamW")
                .containsEntry("beta1", "0.9")
                .containsEntry("weight decay", "0.01")
                .containsEntry("amsgrad", "true");
        assertThat(TorchSettings.of(new RMSprop(new Models.Net(7).parameters())))
                .containsEntry("alpha", "0.99");
        assertThat(TorchSettings.of(new Adagrad(new Models.Net(7).parameters())))
                .containsEntry("learning rate decay", "0.0");
    }

    @Test
    void adamOnOneRankAndSgdOnAnotherIsAnErrorOnBothBeforeTheFirstStep() {
        refused(
                net -> new SGD(net.parameters(), Models.sgd(0.05)),
                net -> new Adam(net.parameters(), Models.adam(0.05)),
                "\"optimizer\" is Adam on ranks [1] and SGD on ranks [0]",
                "\"weight decay\" is 0.0 on ranks [1] and 0.01 on ranks [0]");
    }

    @Test
    void anotherMomentumIsAnErrorThatNamesBothValues() {
        SGDOptions options = Models.sgd(0.05);
        options.momentum().put(0.5);

        refused(
                net -> new SGD(net.parameters(), Models.sgd(0.05)),
                net -> new SGD(net.parameters(), options),
                "\"momentum\" is 0.5 on ranks [1] and 0.9 on ranks [0]");
    }

    private static void refused(
            Function<Module, Optimizer> first, Function<Module, Optimizer> second, String... words) {
        Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7);
            float[] before = Models.weights(net);
            Optimizer inner = (hvd.rank() == 0 ? first : second).apply(net);
            var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(inner, net.named_parameters()))
                    .build();
            optimizer.zeroGradients();
            TorchOptimizer.backward(net.loss(0, 4));

            HvdException error = catchThrowableOfType(HvdException.class, optimizer::step);

            assertThat(error.id()).isEqualTo(ErrorId.DIVERGED);
            assertThat(error).hasMessageContainingAll(words);
            assertThat(Models.weights(net)).containsExactly(before);
            return null;
        });
    }
}
