package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import java.util.List;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Scalar;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Gradients of LibTorch that are infinite or NaN are named before a step uses them. */
@Timeout(120)
class TorchNonFiniteTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @ParameterizedTest(name = "{0} ranks, sharded: {1}, passes: {2}")
    @CsvSource({"1,false,1", "2,false,1", "3,true,1", "2,false,2"})
    void theRankWhoseLossIsNotFiniteIsNamedAndNoWeightChanges(int ranks, boolean sharded, int passes) {
        List<String> messages = Hvd.spawn(ranks, hvd -> {
            Models.Net net = new Models.Net(7);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                            sharded
                                    ? TorchOptimizer.sharded(
                                            hvd, net.named_parameters(), share -> new SGD(share, Models.sgd(0.5)))
                                    : new TorchOptimizer(
                                            new SGD(net.parameters(), Models.sgd(0.5)), net.named_parameters()))
                    .refuseNonFinite(true)
                    .backwardPassesPerStep(passes)
                    .build();
            for (int pass = 0; pass < passes; pass++) {
                net.loss(0, 2).backward();
            }
            optimizer.step();
            float[] before = Models.weights(net);
            optimizer.zeroGradients();
            boolean last = hvd.rank() == hvd.size() - 1;
            for (int pass = 0; pass < passes; pass++) {
                double factor = last && pass == 0 ? Double.POSITIVE_INFINITY : 1;
                TorchOptimizer.backward(net.loss(2, 4), factor);
            }
            String[] message = new String[1];
            assertThatThrownBy(optimizer::step).isInstanceOfSatisfying(HvdException.class, e -> {
                assertThat(e.id()).isEqualTo(ErrorId.NON_FINITE);
                message[0] = e.words();
            });
            assertThat(Models.weights(net)).isEqualTo(before);
            optimizer.zeroGradients();
            for (int pass = 0; pass < passes; pass++) {
                net.loss(4, 6).backward();
            }
            optimizer.step();
            assertThat(Models.weights(net)).isNotEqualTo(before).doesNotContain(Float.NaN);
            return message[0];
        });

        assertThat(messages)
                .containsOnly(messages.get(0))
                .allSatisfy(words -> assertThat(words)
                        .startsWith("step 1, counted from 0,")
                        .contains("on rank " + (ranks - 1) + " \"dense1.weight\", element 0 of ")
                        .doesNotContain("were finite before"));
    }

    /** LibTorch's arithmetic, which is used where gradients are sparse or on a GPU, finds the same parameter. */
    @Test
    void libTorchsOwnSearchFindsTheSameParameter() {
        Hvd.spawn(1, hvd -> {
            Models.Net net = new Models.Net(7);
            TorchOptimizer torch =
                    new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.5)), net.named_parameters());
            net.loss(0, 2).backward();
            for (int i = 0; i < torch.parameters().size(); i++) {
                torch.stage(i);
            }
            torch.adopt();
            assertThat(torch.firstNonFinite()).isEqualTo(-1);
            net.parameters().get(2).grad().fill_(new Scalar(Double.NaN));
            assertThat(torch.firstNonFinite()).isEqualTo(2);
            return null;
        });
    }
}
