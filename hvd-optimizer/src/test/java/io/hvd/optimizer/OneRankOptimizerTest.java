package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.HvdException;
import io.hvd.optimizer.reduce.TopK;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a program is refused on several ranks it is refused on one, by the same error: it is written and tried on one first. */
@Timeout(60)
class OneRankOptimizerTest {
    /** What a program on one rank works with. */
    private static final class Own {
        private final HvdContext hvd;
        private final float[] gradient = {1};
        private final ArrayParameters arrays =
                new ArrayParameters().add("a", new float[1], gradient).add("b", new float[1], new float[] {2});
        private final LinearImpl layer = new LinearImpl(2, 1);

        private Own(HvdContext hvd) {
            this.hvd = hvd;
        }

        private DistributedOptimizerBuilder builder() {
            return DistributedOptimizer.wrap(new Sgd(arrays, 0.1)).context(hvd);
        }

        private DistributedOptimizer plain() {
            DistributedOptimizer optimizer = builder().build();
            optimizer.broadcastParameters(0);
            return optimizer;
        }

        private DistributedOptimizer ofTorch() {
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new TorchOptimizer(
                            new SGD(layer.parameters(), new SGDOptions(0.1)), layer.named_parameters()))
                    .context(hvd)
                    .build();
            optimizer.broadcastParameters(0);
            return optimizer;
        }

        private void backward() {
            layer.forward(torch.ones(1, 2)).sum().backward();
        }
    }

    private static void ready(DistributedOptimizer optimizer) {
        optimizer.gradientReady("a");
        optimizer.gradientReady("b");
    }

    private static Map<String, Consumer<Own>> programs() {
        Map<String, Consumer<Own>> all = new LinkedHashMap<>();
        all.put("a step", own -> plainStep(own.plain()));
        all.put("a gradient that is ready twice", own -> {
            DistributedOptimizer optimizer = own.plain();
            optimizer.gradientReady("a");
            optimizer.gradientReady("a");
        });
        all.put("as many passes as allowed, twice", own -> {
            DistributedOptimizer optimizer =
                    own.builder().backwardPassesPerStep(2).build();
            for (int step = 0; step < 2; step++) {
                optimizer.zeroGradients();
                ready(optimizer);
                ready(optimizer);
                optimizer.step();
            }
        });
        all.put("zeroGradients between backward and step", own -> {
            DistributedOptimizer optimizer = own.plain();
            ready(optimizer);
            optimizer.zeroGradients();
        });
        all.put("zeroGradients after the first of two passes", own -> {
            DistributedOptimizer optimizer =
                    own.builder().backwardPassesPerStep(2).build();
            ready(optimizer);
            optimizer.zeroGradients();
        });
        all.put("another number of passes between backward and step", own -> {
            DistributedOptimizer optimizer = own.plain();
            ready(optimizer);
            optimizer.backwardPassesPerStep(2);
        });
        all.put("noSync between backward and step", own -> {
            DistributedOptimizer optimizer = own.plain();
            ready(optimizer);
            optimizer.noSync();
        });
        all.put("noSync twice", own -> {
            DistributedOptimizer optimizer = own.plain();
            optimizer.noSync();
            optimizer.noSync();
        });
        all.put("a step inside noSync", own -> {
            DistributedOptimizer optimizer = own.plain();
            optimizer.noSync();
            optimizer.step();
        });
        all.put("passes inside noSync", own -> {
            DistributedOptimizer optimizer = own.plain();
            try (var local = optimizer.noSync()) {
                ready(optimizer);
                ready(optimizer);
            }
            ready(optimizer);
            optimizer.step();
        });
        all.put("skipSynchronize without synchronize", own -> own.plain().skipSynchronize());
        all.put("skipSynchronize after the step", own -> {
            DistributedOptimizer optimizer = own.plain();
            optimizer.synchronize();
            try (var skip = optimizer.skipSynchronize()) {
                optimizer.step();
            }
            optimizer.skipSynchronize();
        });
        all.put("no such parameter", own -> own.plain().gradientReady("c"));
        all.put("a batch size without weights", own -> own.plain().batchSize(3));
        all.put(
                "a step without a batch size",
                own -> plainStep(own.builder().weightByBatchSize().build()));
        all.put(
                "a batch of less than nothing",
                own -> own.builder().weightByBatchSize().build().batchSize(-1));
        all.put("nothing but empty batches", own -> {
            DistributedOptimizer optimizer = own.builder().weightByBatchSize().build();
            optimizer.batchSize(0);
            optimizer.step();
        });
        all.put("a step after close", own -> {
            DistributedOptimizer optimizer = own.plain();
            optimizer.close();
            optimizer.step();
        });
        all.put(
                "join of local parameters",
                own -> own.builder().localParameters(Set.of("a")).build().join(JoinDivisor.ACTIVE));
        all.put("MIN", own -> own.builder().op(ReduceOp.MIN).build());
        all.put(
                "SUM with a predivision",
                own -> own.builder().op(ReduceOp.SUM).gradientPredivideFactor(2).build());
        all.put(
                "a predivision by 0",
                own -> own.builder().gradientPredivideFactor(0).build());
        all.put(
                "a compression beside a reducer",
                own -> own.builder()
                        .compression(Compression.FP16)
                        .reducer(new TopK(0.1))
                        .build());
        all.put(
                "weights beside a reducer",
                own -> own.builder().weightByBatchSize().reducer(new TopK(0.1)).build());
        all.put(
                "two groupings",
                own -> own.builder().numGroups(1).bucketBytes(8).build());
        all.put(
                "groups of unknown parameters",
                own -> own.builder().groups(List.of(List.of("c"))).build());
        all.put(
                "range control without float16",
                own -> own.builder().rangeControl(RangeControl.every(2)).build());
        all.put(
                "ADASUM with passes",
                own -> own.builder()
                        .op(ReduceOp.ADASUM)
                        .backwardPassesPerStep(2)
                        .build());
        all.put("buffers that nobody has named", own -> own.plain().synchronizeBuffers());
        all.put("a step of LibTorch's without backward", own -> own.ofTorch().step());
        all.put("a step of LibTorch's after zeroGradients", own -> {
            DistributedOptimizer optimizer = own.ofTorch();
            own.backward();
            optimizer.step();
            optimizer.zeroGradients();
            optimizer.step();
        });
        all.put("steps of LibTorch's as they should be", own -> {
            DistributedOptimizer optimizer = own.ofTorch();
            for (int step = 0; step < 3; step++) {
                optimizer.zeroGradients();
                own.backward();
                optimizer.step();
            }
        });
        all.put("clipped steps of LibTorch's", own -> {
            DistributedOptimizer optimizer = own.ofTorch();
            for (int step = 0; step < 3; step++) {
                optimizer.zeroGradients();
                own.backward();
                optimizer.synchronize();
                try (var skip = optimizer.skipSynchronize()) {
                    optimizer.step();
                }
            }
        });
        all.put("AMP without backward", own -> {
            AmpOptimizer amp = AmpOptimizer.wrap(own.plain()).build();
            amp.step();
        });
        all.put("a broadcast from nowhere", own -> own.plain().broadcastParameters(99));
        return all;
    }

    private static void plainStep(DistributedOptimizer optimizer) {
        optimizer.zeroGradients();
        optimizer.step();
    }

    private static Map<String, String> outcomes(int size) {
        Map<String, String> outcomes = new LinkedHashMap<>();
        programs()
                .forEach((name, program) -> outcomes.put(
                        name,
                        Hvd.spawn(size, hvd -> {
                                    try {
                                        program.accept(new Own(hvd));
                                        return "accepted";
                                    } catch (HvdException e) {
                                        return e.id().toString();
                                    }
                                })
                                .get(0)));
        return outcomes;
    }

    @Test
    void oneRankIsRefusedWhatTwoAreRefused() {
        Map<String, String> one = outcomes(1);

        assertThat(one).isEqualTo(outcomes(2));
        assertThat(one.values()).contains("accepted", "OPTIMIZER_MISUSE", "BAD_ARGUMENT");
    }
}
