package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.testing.StaticFields;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What hvd-optimizer keeps in static fields: constants, and what this test lists, each with its reason. */
class StaticStateTest {
    /** What belongs to the process because LibTorch, which there is once in it, calls hooks without a context. */
    private static final Map<String, String> STATE = Map.of(
            "io.hvd.optimizer.djl.CollectorTurn.TURN",
                    "DJL's engine, which there is once, has one gradient collector at a time",
            "io.hvd.optimizer.torch.gradient.GradientHook.LIVING", "native code holds the hooks of parameters weakly",
            "io.hvd.optimizer.torch.graph.GraphHook.LIVING", "native code holds the hooks of graphs weakly",
            "io.hvd.optimizer.torch.graph.GraphHook.DELIVERED",
                    "LibTorch refers to a hook's result after the hook has ended",
            "io.hvd.optimizer.torch.graph.HookFailures.THROWN", "native code hands on only the text of an exception",
            "io.hvd.optimizer.torch.shard.UnitHooks.LIVING", "native code holds the hooks of units weakly",
            "io.hvd.optimizer.torch.natives.NativePreparation.prepared",
                    "the native libraries are unpacked once in a process",
            "io.hvd.optimizer.torch.natives.NativePreparation.memoryKept",
                    "the C library's thresholds are a process's own");

    /** Collections that nobody writes into after the class was initialised. */
    private static final Map<String, String> CONSTANT_COLLECTIONS =
            Map.of("io.hvd.optimizer.torch.Autocast.TYPES", "types that autocast takes");

    private static final Set<String> CONSTANT_ARRAYS = Set.of("io.hvd.train.safetensors.FileChecksum.BEFORE");

    /** Looking at a class that LibTorch calls initialises it, and with it LibTorch. */
    @BeforeAll
    static void makeLibTorchReady() {
        TorchRuntime.prepare();
    }

    @Test
    void staticStateIsWhatIsListedHere() {
        assertThat(StaticFields.state())
                .containsExactlyInAnyOrderElementsOf(
                        Stream.concat(STATE.keySet().stream(), CONSTANT_COLLECTIONS.keySet().stream())
                                .collect(Collectors.toSet()));
    }

    @Test
    void constantArraysAreWhatIsListedHere() {
        assertThat(StaticFields.constantArrays()).isEqualTo(CONSTANT_ARRAYS);
    }
}
