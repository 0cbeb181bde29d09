package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.examples.image.ResNet.Stem;
import io.hvd.examples.training.SeededModule;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ResNetTest {
    @BeforeAll
    static void unpackLibTorch() {
        TorchRuntime.prepare();
    }

    @ParameterizedTest
    @CsvSource({"resnet18, 11689512", "resnet34, 21797672", "resnet50, 25557032", "resnet101, 44549160"})
    void itHasAsManyParametersAsTheWellKnownNet(String name, long count) {
        assertThat(parameters(ResNet.named(name, Stem.IMAGENET, 1000))).isEqualTo(count);
    }

    @Test
    void theStemForSmallImagesHasAThreeByThreeKernel() {
        assertThat(parameters(ResNet.named("resnet18", Stem.CIFAR, 10))).isEqualTo(11_173_962);
    }

    @Test
    void aNameThatNoNetHasIsRefusedWithThoseThatThereAre() {
        assertThatThrownBy(() -> ResNet.named("resnet20", Stem.CIFAR, 10))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("resnet20", "resnet18", "resnet34", "resnet50", "resnet101");
    }

    @Test
    void parametersHaveTheNamesThatTorchvisionGivesThem() {
        assertThat(TorchTensors.parameters(ResNet.named("resnet18", Stem.IMAGENET, 10, 2)))
                .hasSize(62)
                .containsKeys("conv1.weight", "bn1.bias", "layer1.0.conv1.weight", "layer2.0.downsample.0.weight")
                .containsKeys("layer2.0.downsample.1.bias", "layer4.1.bn2.weight", "fc.weight", "fc.bias")
                .doesNotContainKeys("conv1.bias", "layer1.0.downsample.0.weight", "layer3.1.downsample.0.weight");
    }

    @Test
    void aBottleneckHasThreeConvolutionsOfWhichTheSecondHasTheStride() {
        ResNet net = ResNet.named("resnet50", Stem.IMAGENET, 10, 2);

        assertThat(TorchTensors.parameters(net))
                .hasSize(161)
                .hasEntrySatisfying("layer1.0.conv1.weight", kernel -> assertShape(kernel, 2, 2, 1, 1))
                .hasEntrySatisfying("layer2.0.conv2.weight", kernel -> assertShape(kernel, 4, 4, 3, 3))
                .hasEntrySatisfying("layer2.3.conv3.weight", kernel -> assertShape(kernel, 16, 4, 1, 1))
                .hasEntrySatisfying("layer2.0.downsample.0.weight", kernel -> assertShape(kernel, 16, 8, 1, 1))
                .hasEntrySatisfying("layer1.0.downsample.0.weight", kernel -> assertShape(kernel, 8, 2, 1, 1))
                .containsKey("layer3.5.bn3.bias")
                .doesNotContainKeys("layer2.1.downsample.0.weight", "layer3.6.conv1.weight");
        try (PointerScope scope = new PointerScope()) {
            assertThat(net.forward(torch.randn(2, 3, 64, 96)).sizes().vec().get())
                    .containsExactly(2, 10);
        }
    }

    /** Mean, variance and a counter for each of 20 batch norms: saved and broadcast with the parameters. */
    @Test
    void runningStatisticsArePartOfTheState() {
        ResNet net = ResNet.named("resnet18", Stem.CIFAR, 10, 2);

        assertThat(net.statistics()).hasSize(60).containsKeys("bn1.running_mean", "layer3.0.bn1.num_batches_tracked");
        assertThat(TorchTensors.state(net)).hasSize(122);
    }

    @Test
    void imagesOfAnySizeBecomeLogProbabilities() {
        ResNet small = ResNet.named("resnet18", Stem.CIFAR, 7, 2);
        ResNet large = ResNet.named("resnet18", Stem.IMAGENET, 7, 2);
        try (PointerScope scope = new PointerScope()) {
            var forSmall = small.forward(torch.randn(3, 3, 32, 32));
            var forLarge = large.forward(torch.randn(2, 3, 64, 96));

            assertThat(forSmall.sizes().vec().get()).containsExactly(3, 7);
            assertThat(forLarge.sizes().vec().get()).containsExactly(2, 7);
            assertThat(forSmall.exp().sum().item_float()).isCloseTo(3, org.assertj.core.data.Offset.offset(1e-4f));
        }
    }

    @Test
    void theSeedAloneDrawsTheWeights() {
        var one = TorchTensors.parameters(SeededModule.seeded(5, () -> ResNet.named("resnet18", Stem.CIFAR, 10, 2)));
        var same = TorchTensors.parameters(SeededModule.seeded(5, () -> ResNet.named("resnet18", Stem.CIFAR, 10, 2)));
        var other = TorchTensors.parameters(SeededModule.seeded(6, () -> ResNet.named("resnet18", Stem.CIFAR, 10, 2)));

        one.forEach((name, weights) ->
                assertThat(same.get(name).toFloatArray()).as(name).isEqualTo(weights.toFloatArray()));
        assertThat(other.get("conv1.weight").toFloatArray())
                .isNotEqualTo(one.get("conv1.weight").toFloatArray());
    }

    /** LibTorch calls the Java objects of nested modules, which must not have been collected. */
    @Test
    void everyBatchNormLearnsOfTheModeAfterAGarbageCollection() {
        ResNet net = ResNet.named("resnet18", Stem.CIFAR, 10, 2);
        System.gc();
        System.gc();

        net.train(false);
        Tensor counter = net.statistics().get("layer4.1.bn2.num_batches_tracked");
        net.forward(torch.randn(2, 3, 32, 32));
        assertThat(((long[]) counter.toArray())[0]).isZero();

        net.train(true);
        net.forward(torch.randn(2, 3, 32, 32));
        assertThat(((long[]) counter.toArray())[0]).isEqualTo(1);
    }

    private static void assertShape(Tensor tensor, long... shape) {
        assertThat(tensor.shape()).isEqualTo(Shape.of(shape));
    }

    private static long parameters(ResNet net) {
        return TorchTensors.parameters(net).values().stream()
                .mapToLong(Tensor::elements)
                .sum();
    }
}
