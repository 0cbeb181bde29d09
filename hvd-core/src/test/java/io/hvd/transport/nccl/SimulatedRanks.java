package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.cuda.SimulatedGpu;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Collectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Tensor;
import io.hvd.testing.OnNodes;
import io.hvd.transport.nccl.natives.NcclPresence;
import io.hvd.transport.nccl.natives.NcclVariables;
import io.hvd.transport.nccl.natives.SimulatedNccl;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Ranks as threads, each with simulated GPUs. */
final class SimulatedRanks {
    static final Device GPU = Device.cuda(0);

    private SimulatedRanks() {}

    /** One rank with its GPUs, by their index. @param nccl null where it is hidden */
    record Rank(Backend backend, Map<Integer, SimulatedGpu> gpus, SimulatedNccl nccl) {
        int rank() {
            return backend.topology().rank();
        }

        int size() {
            return backend.topology().size();
        }

        DataPlane data() {
            return backend.collectives();
        }

        /** The first one. */
        SimulatedGpu gpu() {
            return gpus.values().iterator().next();
        }

        Tensor up(Tensor host) {
            return up(host, Device.cuda(gpus.keySet().iterator().next()));
        }

        Tensor up(Tensor host, Device device) {
            return gpus.get(device.index()).copyOf(host, device, 0);
        }

        /** A GPU tensor's elements, as soon as what hvd has left to the device is done. */
        Tensor down(Tensor tensor) {
            DeviceMemory memory = (DeviceMemory) tensor.memory();
            return gpus.get(memory.device().index()).read(memory.address(), tensor.dtype(), tensor.shape());
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

    /** The node of every rank, and how many GPUs each rank has, of indices that differ between ranks. */
    record Layout(List<String> nodes, int gpusEach) {
        static Layout oneNode(int size) {
            return new Layout(Collections.nCopies(size, "node"), 1);
        }

        /** One GPU each is the first that the rank sees. */
        List<Device> devices(int rank) {
            List<Device> devices = new ArrayList<>();
            for (int i = 0; i < gpusEach; i++) {
                devices.add(Device.cuda(gpusEach == 1 ? 0 : rank * gpusEach + i));
            }
            return devices;
        }
    }

    static void run(int size, String way, Map<String, String> settings, Body body) throws Exception {
        run(Layout.oneNode(size), way, settings, body);
    }

    static void run(Layout layout, String way, Map<String, String> settings, Body body) throws Exception {
        runAll(layout, way, settings, null, body, SimulatedRanks::close);
    }

    /** Ranks that are threads of one process to hvd too, in which a call that allocates waits for all GPUs. */
    static void runThreads(int size, Map<String, String> settings, Body body) throws Exception {
        runThreads(Layout.oneNode(size), Collections.nCopies(size, "one process"), settings, body);
    }

    /**
     * Ranks that are threads of several processes. A call that allocates waits for all GPUs of its own process.
     *
     * @param processes by rank, the name of its process
     */
    static void runThreads(Layout layout, List<String> processes, Map<String, String> settings, Body body)
            throws Exception {
        Map<String, Collection<SimulatedGpu>> byName = new HashMap<>();
        List<Process> all = processes.stream()
                .map(name -> new Process(name, byName.computeIfAbsent(name, key -> new CopyOnWriteArrayList<>())))
                .toList();
        runAll(layout, "nccl", settings, all, body, SimulatedRanks::close);
    }

    /** A process with several ranks. @param gpus those of its ranks that have begun */
    private record Process(String name, Collection<SimulatedGpu> gpus) {}

    /** The body sees its job fail: as in a real one nobody closes anything, and no stream stays stuck. */
    static void runToFailure(int size, String way, Map<String, String> settings, Body body) throws Exception {
        runToFailure(Layout.oneNode(size), way, settings, body);
    }

    static void runToFailure(Layout layout, String way, Map<String, String> settings, Body body) throws Exception {
        runAll(layout, way, settings, null, body, rank -> rank.gpu().awaitAll());
    }

    private static void close(Rank rank) {
        rank.gpus().values().forEach(gpu -> assertThat(gpu.failure()).isNull());
        rank.backend().close();
    }

    /**
     * Stages are small, so that batches take several.
     *
     * @param processes that of each rank; null where each rank has one of its own
     */
    private static void runAll(
            Layout layout,
            String way,
            Map<String, String> settings,
            List<Process> processes,
            Body body,
            Consumer<Rank> ending)
            throws Exception {
        Map<String, String> environment = new HashMap<>(settings);
        environment.putIfAbsent("HVD_GPU_STAGE_BYTES", "4096");
        HvdConfig config = HvdConfig.from(environment);
        SimulatedNccl.Fabric fabric = way.equals("nccl") ? new SimulatedNccl.Fabric() : null;
        List<CompletableFuture<Void>> ranks = new ArrayList<>();
        List<LocalProvider> team = LocalProvider.ofThreads(layout.nodes().size(), 4096);
        for (int i = 0; i < team.size(); i++) {
            int rank = i;
            BackendProvider host = OnNodes.of(team.get(i), rank, layout.nodes());
            Process process = processes == null ? null : processes.get(rank);
            ranks.add(CompletableFuture.runAsync(
                    () -> live(host, layout.devices(rank), fabric, config, process, body, ending),
                    task -> new Thread(task, "gpu-rank").start()));
        }
        for (CompletableFuture<Void> rank : ranks) {
            rank.get(100, TimeUnit.SECONDS);
        }
    }

    private static void live(
            BackendProvider host,
            List<Device> devices,
            SimulatedNccl.Fabric fabric,
            HvdConfig config,
            Process process,
            Body body,
            Consumer<Rank> ending) {
        Map<Integer, SimulatedGpu> gpus = new TreeMap<>();
        List<Gpu> cards = new ArrayList<>();
        String own = process == null ? "process of " + Thread.currentThread().getId() : process.name();
        for (Device device : devices) {
            gpus.put(device.index(), new SimulatedGpu());
            if (process != null) {
                process.gpus().add(gpus.get(device.index()));
                gpus.get(device.index()).allocateWith(process.gpus());
            }
            cards.add(new Gpu(
                    device.index(),
                    "simulated",
                    "gpu" + gpus.get(device.index()).hashCode()));
        }
        SimulatedNccl nccl = fabric == null ? null : new SimulatedNccl(gpus, fabric);
        NcclProvider provider = new NcclProvider(
                host,
                (topology, settings) -> devices,
                () -> new NcclPresence(
                        nccl, cards, nccl == null ? "libnccl.so.2 is hidden" : "", NcclVariables.NONE, own),
                index -> gpus.get(index).device());
        Rank rank = new Rank(provider.open(config, List.of()), gpus, nccl);
        try {
            body.run(rank);
        } catch (Exception | AssertionError e) {
            // The other ranks wait for this one otherwise.
            rank.backend().abandon("the test's body threw " + e);
            throw new IllegalStateException(e);
        }
        ending.accept(rank);
    }
}
