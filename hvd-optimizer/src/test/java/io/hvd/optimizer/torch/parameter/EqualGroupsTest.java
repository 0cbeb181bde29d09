package io.hvd.optimizer.torch.parameter;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.torch.Models;
import io.hvd.optimizer.torch.TorchRuntime;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.OptimizerParamGroup;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Parameter groups whose options LibTorch has dropped. */
@Timeout(60)
class EqualGroupsTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private static OptimizerParamGroupVector groups(OptimizerParamGroup... groups) {
        return new OptimizerParamGroupVector(groups);
    }

    /** 0.001 is the default of AdamOptions, so LibTorch takes it for no rate at all. */
    @Test
    void aRateThatLibTorchHasReplacedByTheOptimizersIsNamed() {
        Models.Net net = new Models.Net(7);
        Adam adam = new Adam(
                groups(
                        new OptimizerParamGroup(net.dense1.parameters(), new AdamOptions(0.001)),
                        new OptimizerParamGroup(net.dense2.parameters(), new AdamOptions(0.125))),
                new AdamOptions(0.125));
        assertThat(adam.param_groups().get(0).options().get_lr()).isEqualTo(0.125);

        assertThat(EqualGroups.found(adam).orElseThrow())
                .contains("groups 0 and 1 of Adam", "learning rate=0.125", "set_lr(rate)", "AdamOptions");

        adam.param_groups().get(0).options().set_lr(0.001);
        assertThat(EqualGroups.found(adam)).isEmpty();
    }

    @Test
    void optionsOfAnotherClassAndAWeightDecayOfZeroAreNamedToo() {
        Models.Net net = new Models.Net(7);
        AdamW other = new AdamW(
                groups(
                        new OptimizerParamGroup(net.dense1.parameters(), new AdamOptions(0.5)),
                        new OptimizerParamGroup(net.dense2.parameters(), new AdamOptions(0.25))),
                new AdamWOptions(0.125));
        assertThat(EqualGroups.found(other).orElseThrow()).contains("of AdamW", "learning rate=0.125");

        SGDOptions decay = new SGDOptions(0.5);
        decay.weight_decay().put(0.1);
        SGD noDecay = new SGD(net.dense1.parameters(), decay);
        noDecay.add_param_group(new OptimizerParamGroup(net.dense2.parameters(), new SGDOptions(0.5)));
        assertThat(EqualGroups.found(noDecay).orElseThrow()).contains("weight decay=0.1");
    }

    @Test
    void groupsWithDifferentOptionsAreNot() {
        Models.Net net = new Models.Net(7);
        SGD sgd = new SGD(net.dense1.parameters(), new SGDOptions(0.5));
        assertThat(EqualGroups.found(sgd)).isEmpty();
        sgd.add_param_group(new OptimizerParamGroup(net.dense2.parameters(), new SGDOptions(0.25)));
        assertThat(EqualGroups.found(sgd)).isEmpty();
    }
}
