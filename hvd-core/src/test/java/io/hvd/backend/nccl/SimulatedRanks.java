package io.hvd.backend.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.backend.cuda.SimulatedGpu;
import io.hvd.backend.local.LocalProvider;
import io.hvd.config.HvdConfig;
import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Ranks as threads, each with a simulated GPU. */
final class SimulatedRanks {
    static final Device GPU = Device.cuda(0);

    private SimulatedRanks() {}

    /** One rank with its GPU, and both ways over the same ranks. */
    record Rank(Backend backend, SimulatedGpu gpu) {
        int rank() {
            return backend.topology().rank();
        }

        int size() {
            return backend.topology().size();
        }

        Collectives data() {
            return backend.collectives();
        }

        Tensor up(Tensor host) {
            return gpu.copyOf(host, GPU, 0);
        }

        /** A GPU tensor's elements, as soon as what hvd has left to the device is done. */
        Tensor down(Tensor tensor) {
            DeviceMemory memory = (DeviceMemory) tensor.memory();
            return gpu.read(memory.address(), tensor.dtype(), tensor.shape());
        }

        void settle(Collectives data) throws InterruptedException {
            Collectives.Completion left = data.completion();
            while (left != null && !left.isDone()) {
                TimeUnit.MICROSECONDS.sleep(20);
            }
        }
    }

    interface Body {
        void run(Rank rank) throws Exception;
    }

    /** Stages are small, so that batches take several. */
    static void run(int size, String way, Map<String, String> settings, Body body) throws Exception {
        Map<String, String> environment = new HashMap<>(settings);
        environment.putIfAbsent("HVD_GPU_STAGE_BYTES", "4096");
        HvdConfig config = HvdConfig.from(environment);
        SimulatedNccl.Fabric fabric = new SimulatedNccl.Fabric();
        List<CompletableFuture<Void>> ranks = new ArrayList<>();
        List<LocalProvider> team = LocalProvider.team(size, 4096);
        for (int i = 0; i < size; i++) {
            LocalProvider host = team.get(i);
            Gpu card = new Gpu(0, "simulated", "0000:0" + i + ":00.0");
            ranks.add(CompletableFuture.runAsync(
                    () -> live(host, card, way.equals("nccl") ? fabric : null, config, body),
                    task -> new Thread(task, "gpu-rank").start()));
        }
        for (CompletableFuture<Void> rank : ranks) {
            rank.get(100, TimeUnit.SECONDS);
        }
    }

    private static void live(LocalProvider host, Gpu card, SimulatedNccl.Fabric fabric, HvdConfig config, Body body) {
        SimulatedGpu gpu = new SimulatedGpu();
        NcclCalls nccl = fabric == null ? null : new SimulatedNccl(gpu, fabric);
        NcclProvider provider = new NcclProvider(
                host,
                (topology, settings) -> GPU,
                () -> new NcclPresence(nccl, List.of(card), nccl == null ? "libnccl.so.2 is hidden" : ""),
                index -> gpu.device());
        Backend backend = provider.open(config, List.of());
        try {
            body.run(new Rank(backend, gpu));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        } finally {
            assertThat(gpu.failure()).isNull();
            backend.close();
        }
    }
}
