package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.NormNet.samples;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.graph.GraphHook;
import io.hvd.optimizer.torch.norm.NormLayer;
import io.hvd.optimizer.torch.norm.SyncSequential;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SequentialImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Synchronised batch norms with ranks as threads, and how a model gets them. */
@Timeout(240)
class SyncBatchNormTest {
    /** JavaCPP frees a batch norm with the Java object that made it, also while a sequence has it; a local variable is no hold. */
    private static final List<Module> KEPT = Collections.synchronizedList(new ArrayList<>());

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @Nested
    class OnOneRank extends SyncedBatches {
        @Override
        GradientSamples.Ranks ranks() {
            return body -> Hvd.spawn(1, InitOptions.standard().withDynamicProcessSets(), body);
        }
    }

    @Nested
    class OnFourRanks extends SyncedBatches {
        @Override
        GradientSamples.Ranks ranks() {
            return body -> Hvd.spawn(4, InitOptions.standard().withDynamicProcessSets(), body);
        }
    }

    @Test
    void aConvertedModelKeepsItsNamesAndTensorsAndItsLayersAreReplacedInJava() {
        Hvd.spawn(1, hvd -> {
            NormNet net = new NormNet(1);
            var names = TorchTensors.state(net).keySet();
            BatchNorm2dImpl before = net.norm;
            assertThat(SyncBatchNorm.convert(net, hvd)).isSameAs(net);
            assertThat(TorchTensors.state(net).keySet()).isEqualTo(names);
            assertThat(net.norm).isInstanceOf(SyncBatchNorm2d.class).isNotSameAs(before);
            assertThat(net.norm.weight().data_ptr().address())
                    .isEqualTo(before.weight().data_ptr().address());
            assertThat(net.head).isInstanceOf(SyncSequential.class);
            SyncBatchNorm.convert(net, hvd); // finds nothing more to do
            Garbage.collect();
            net.loss(0, 4).backward();
            net.eval();
            assertThat(net.norm.is_training()).isFalse();
            return null;
        });
    }

    @Test
    void aSequenceIsGivenBackAsAnother() {
        Hvd.spawn(2, hvd -> {
            SequentialImpl plain = new SequentialImpl();
            plain.push_back("norm", kept(new BatchNorm1dImpl(new BatchNormOptions(3))));
            SequentialImpl model = SyncBatchNorm.convert(plain, hvd);
            assertThat(model).isNotSameAs(plain);
            assertThat(TorchTensors.state(model).keySet())
                    .isEqualTo(TorchTensors.state(plain).keySet())
                    .contains("norm.running_mean");
            Tensor y = model.forward(samples(hvd.rank(), hvd.rank() + 1, 3));
            Tensor whole = new BatchNorm1dImpl(new BatchNormOptions(3)).forward(samples(0, 2, 3));
            assertThat(Models.floats(y.detach()))
                    .usingComparatorWithPrecision(1e-5f)
                    .containsExactly(Models.floats(
                            whole.detach().narrow(0, hvd.rank(), 1).contiguous()));
            return null;
        });
    }

    /** One of three ranks is lost, say, and the others go on. */
    @Test
    void aLayerOverAllRanksGoesOnWithThoseOfTheNextContext() {
        List<SequentialImpl> models = new ArrayList<>(Collections.nCopies(3, null));
        Hvd.spawn(3, hvd -> {
            SequentialImpl plain = new SequentialImpl();
            plain.push_back("norm", kept(new BatchNorm1dImpl(new BatchNormOptions(3))));
            models.set(hvd.rank(), SyncBatchNorm.convert(plain, hvd));
            models.get(hvd.rank()).forward(samples(hvd.rank(), hvd.rank() + 1, 3));
            return null;
        });
        Garbage.collect();
        Hvd.spawn(2, hvd -> {
            Tensor y = models.get(2 * hvd.rank()).forward(samples(hvd.rank(), hvd.rank() + 1, 3));
            Tensor whole = new BatchNorm1dImpl(new BatchNormOptions(3)).forward(samples(0, 2, 3));
            assertThat(Models.floats(y.detach()))
                    .usingComparatorWithPrecision(1e-5f)
                    .containsExactly(Models.floats(
                            whole.detach().narrow(0, hvd.rank(), 1).contiguous()));
            return null;
        });
    }

    /** The native layers that forward calls are those of the new sequence, not of the one that is garbage now. */
    @Test
    void aSequenceOutlivesTheOneWhosePlaceItHasTaken() {
        Hvd.spawn(2, hvd -> {
            SequentialImpl model = SyncBatchNorm.convert(denseAndNorm(), hvd);
            Tensor x = samples(hvd.rank(), hvd.rank() + 4, 3);
            float[] before = Models.floats(model.forward(x).detach());
            for (int round = 0; round < 3; round++) {
                Garbage.collect();
                List<Module> inItsMemory = new ArrayList<>();
                for (int i = 0; i < 200; i++) {
                    inItsMemory.add(denseAndNorm());
                }
                assertThat(Models.floats(model.forward(x).detach())).containsExactly(before);
            }
            model.push_back("last", kept(new LinearImpl(3, 2))); // moves the native layers
            assertThat(model.forward(x).size(1)).isEqualTo(2);
            return null;
        });
    }

    /** A sequence in a field before the one that keeps its norm. */
    private static final class KeptLater extends Module {
        private final SequentialImpl head = register_module("head", new SequentialImpl());
        private final BatchNorm1dImpl norm = new BatchNorm1dImpl(new BatchNormOptions(3));

        KeptLater() {
            head.push_back("norm", norm);
        }

        WeakReference<Module> owner() {
            return new WeakReference<>(norm);
        }
    }

    @Test
    void aNormThatIsKeptInALaterFieldThanItsSequenceStays() {
        Hvd.spawn(2, hvd -> {
            KeptLater model = new KeptLater();
            WeakReference<Module> owner = model.owner();
            SyncBatchNorm.convert(model, hvd);
            Garbage.collect();
            assertThat(owner.get()).as("what the native layer goes with").isNotNull();
            assertThat(model.norm).isInstanceOf(SyncBatchNorm1d.class);
            Tensor x = samples(hvd.rank(), hvd.rank() + 4, 3);
            assertThat(Models.floats(model.head.forward(x).detach()))
                    .containsExactly(Models.floats(model.norm.forward(x).detach()));
            return null;
        });
    }

    private static SequentialImpl denseAndNorm() {
        SequentialImpl sequence = new SequentialImpl();
        sequence.push_back("dense", kept(new LinearImpl(3, 3)));
        sequence.push_back("norm", kept(new BatchNorm1dImpl(new BatchNormOptions(3))));
        return sequence;
    }

    private static <M extends Module> M kept(M layer) {
        KEPT.add(layer);
        return layer;
    }

    /** LibTorch would normalise by one rank's batch, and nothing would show it. */
    @Test
    void libTorchsOwnForwardOfAConvertedLayerFails() {
        Hvd.spawn(1, hvd -> {
            SequentialImpl plain = new SequentialImpl();
            plain.push_back("norm", kept(new BatchNorm1dImpl(new BatchNormOptions(3))));
            SyncBatchNorm.convert(plain, hvd);
            assertThatThrownBy(() -> plain.forward(samples(0, 4, 3)))
                    .isInstanceOf(RuntimeException.class)
                    .hasMessageContaining("running_mean should contain 3 elements");
            return null;
        });
    }

    /** Its norm is where no field leads. */
    private static final class Hidden extends Module {
        private final BatchNorm1dImpl seen = register_module("seen", new BatchNorm1dImpl(new BatchNormOptions(2)));
        private final Supplier<Tensor> use;

        Hidden() {
            BatchNorm1dImpl norm = register_module("hidden", new BatchNorm1dImpl(new BatchNormOptions(3)));
            use = () -> norm.forward(samples(0, 4, 3));
        }
    }

    @Test
    void aBatchNormThatNoFieldHoldsIsNamedAndNothingIsChanged() {
        Hvd.spawn(1, hvd -> {
            Hidden model = new Hidden();
            assertThatThrownBy(() -> SyncBatchNorm.convert(model, hvd))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED))
                    .hasMessageContainingAll("\"hidden\"", "1 of 2", "Nothing has been changed");
            assertThat(model.seen).isNotInstanceOf(NormLayer.class);
            assertThat(model.use.get().defined()).isTrue();
            return null;
        });
    }

    @Test
    void aSingleLayerIsNotConverted() {
        Hvd.spawn(1, hvd -> {
            BatchNorm1dImpl layer = new BatchNorm1dImpl(new BatchNormOptions(3));
            assertThatThrownBy(() -> SyncBatchNorm.convert(layer, hvd))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("BatchNorm1dImpl", "new SyncBatchNorm2d(");
            return null;
        });
    }

    @Test
    void ranksWithDifferentNumbersOfFeaturesAreToldOnAllRanks() {
        Hvd.spawn(2, hvd -> {
            int features = 3 + hvd.rank();
            var layer = new SyncBatchNorm1d(hvd, "odd", new BatchNormOptions(features));
            assertThatThrownBy(() -> layer.forward(samples(0, 4, features)))
                    .isInstanceOf(RankMismatchException.class)
                    .hasMessageContaining("sync_batch_norm.odd.moments");
            return null;
        });
    }

    @Test
    void theGuardFindsThePlainNormsStatisticsAndNothingToSayAboutSynchronisedOnes() {
        Hvd.spawn(2, hvd -> {
            NormNet synced = SyncBatchNorm.convert(new NormNet(2), hvd);
            trainWithGuard(hvd, synced);
            assertThatThrownBy(() -> trainWithGuard(hvd, new NormNet(2)))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.DIVERGED))
                    .hasMessageContainingAll("the same buffers", "running_mean\"");
            return null;
        });
    }

    private static void trainWithGuard(HvdContext hvd, NormNet net) {
        var optimizer = DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.01)), net.named_parameters()))
                .context(hvd)
                .buffers(TorchTensors.buffers(net))
                .compareParametersEvery(1)
                .build();
        for (int step = 0; step < 3; step++) {
            optimizer.zeroGradients();
            net.loss(8 * step + 4 * hvd.rank(), 8 * step + 4 * hvd.rank() + 4).backward();
            optimizer.step();
        }
    }

    @Test
    void whatBackwardNeedsGoesWithTheGraph() {
        int before = GraphHook.living();
        Hvd.spawn(2, hvd -> {
            var layer = new SyncBatchNorm1d(hvd, "norm", new BatchNormOptions(3));
            for (int round = 0; round < 200; round++) {
                try (PointerScope scope = new PointerScope()) {
                    Tensor x = samples(hvd.rank(), hvd.rank() + 4, 3);
                    x.requires_grad_(true);
                    layer.forward(x).square().sum().backward();
                    assertThat(GraphHook.living()).isLessThanOrEqualTo(before + 2);
                }
            }
            return null;
        });
        assertThat(GraphHook.living()).isLessThanOrEqualTo(before);
    }

    /** LibTorch's own layer refuses it too; accepted, the running variance would be NaN for ever. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void oneValuePerFeatureIsRefusedOnAnyNumberOfRanksAndChangesNoStatistics(int size) {
        Hvd.spawn(size, hvd -> {
            SyncBatchNorm1d layer = new SyncBatchNorm1d(hvd, "norm", new BatchNormOptions(3));
            Tensor one = hvd.rank() == 0 ? torch.ones(1, 3) : torch.ones(0, 3);
            assertThatThrownBy(() -> layer.forward(one))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_ARGUMENT))
                    .hasMessageContainingAll("\"norm\"", "1 value(s) per feature", "2 or more");
            assertThat(layer.running_var().max().item_float()).isEqualTo(1);
            assertThat(layer.num_batches_tracked().item_long()).isZero();
            layer.eval();
            layer.forward(torch.ones(1, 3));
            return null;
        });
    }

    /** Without running statistics an evaluation too normalises by the batch. */
    @Test
    void aLayerWithoutStatisticsRefusesOneValueInEvaluationToo() {
        Hvd.spawn(1, hvd -> {
            BatchNormOptions options = new BatchNormOptions(3);
            options.track_running_stats().put(false);
            SyncBatchNorm1d layer = new SyncBatchNorm1d(hvd, "norm", options);
            layer.eval();
            assertThatThrownBy(() -> layer.forward(torch.ones(1, 3))).hasMessageContaining("1 value(s) per feature");
            return null;
        });
    }
}
