package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.cuda.CudaDevice;
import io.hvd.cuda.SimulatedGpu;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Collectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.spi.OpKind;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.testing.Recomposed;
import io.hvd.transport.nccl.natives.NcclPresence;
import io.hvd.transport.nccl.natives.NcclVariables;
import io.hvd.transport.nccl.natives.SimulatedNccl;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What two ranks make of what they find; with a fake in the place of NCCL, so no device is proved to work. */
@Timeout(20)
class NcclProviderTest {
    private final SimulatedNccl.Fabric fabric = new SimulatedNccl.Fabric();
    private IntFunction<CudaDevice> opener = index -> new SimulatedGpu().device();

    private static final Map<String, String> BY_NAME = Map.of("HVD_BACKEND", "nccl");
    private static final List<Gpu> GPUS =
            List.of(new Gpu(0, "H100", "0000:65:00.0"), new Gpu(1, "H100", "0000:b3:00.0"));
    private static final NcclPresence NO_GPU = new NcclPresence(null, List.of(), "no GPU: no driver is loaded");

    @Test
    void theUniqueIdOfRank0ReachesEveryRank() throws Exception {
        assertThat(open(BY_NAME, rank -> there(), NcclProviderTest::own))
                .allSatisfy(outcome -> assertThat(outcome).startsWith("nccl 2.18.5 over local"));
    }

    @Test
    void askedForByNameWithoutAGpuTheErrorSaysWhatIsMissingAndWhatElseToDo() throws Exception {
        assertThat(open(BY_NAME, rank -> NO_GPU, NcclProviderTest::own))
                .allSatisfy(outcome -> assertThat(outcome)
                        .contains(
                                ErrorId.UNSUPPORTED.code(),
                                "HVD_BACKEND=nccl",
                                "no driver is loaded",
                                "[0, 1]",
                                "HVD_BACKEND=mpi"));
    }

    @Test
    void askedForByNameAndMissingOnOneRankAllRanksFailAndNameIt() throws Exception {
        NcclPresence noLibrary = new NcclPresence(null, GPUS, "NCCL did not load: libnccl.so.2");
        assertThat(open(BY_NAME, rank -> rank == 0 ? there() : noLibrary, NcclProviderTest::own))
                .allSatisfy(outcome -> assertThat(outcome).contains("libnccl.so.2", "[1]"));
    }

    @Test
    void leftToChooseTheHostsBackEndWorksAloneWithoutGpus() throws Exception {
        assertThat(open(Map.of(), rank -> NO_GPU, NcclProviderTest::own))
                .containsOnly("local (2 ranks as threads of one JVM)");
    }

    @Test
    void leftToChooseWithGpusButWithoutNcclTheBackEndSaysWhy() throws Exception {
        NcclPresence noLibrary = new NcclPresence(null, GPUS, "NCCL did not load: libnccl.so.2");
        assertThat(open(Map.of(), rank -> noLibrary, NcclProviderTest::own))
                .allSatisfy(
                        outcome -> assertThat(outcome).startsWith("local").contains("without NCCL", "libnccl.so.2"));
    }

    @Test
    void aRankThatGetsNoGpuFailsAllRanksWithItsOwnReason() throws Exception {
        IntFunction<List<Device>> onlyOne = rank -> {
            if (rank == 1) {
                throw new HvdException(ErrorId.NO_DEVICE, "host has 2 ranks but only 1 visible GPU(s)");
            }
            return List.of(Device.cuda(0));
        };
        assertThat(open(Map.of(), rank -> there(), onlyOne))
                .allSatisfy(outcome ->
                        assertThat(outcome).contains(ErrorId.NO_DEVICE.code(), "rank 1", "only 1 visible GPU(s)"));
    }

    @Test
    void twoRanksWithTheSameGpuFailOnBothAndAreBothNamed() throws Exception {
        assertThat(open(Map.of(), rank -> there(), rank -> List.of(Device.cuda(1))))
                .allSatisfy(outcome -> assertThat(outcome)
                        .contains("rank 0", "rank 1", "the same GPU", "0000:b3:00.0", "HVD_SHARE_GPU=1"));
    }

    @Test
    void ranksThatMayShareAGpuTryNcclOnlyWhenItIsAskedForByName() throws Exception {
        assertThat(open(Map.of("HVD_SHARE_GPU", "1"), rank -> there(), rank -> List.of(Device.cuda(0))))
                .allSatisfy(outcome -> assertThat(outcome).contains("without NCCL", "NCCL_HOSTID"));
        assertThat(open(
                        Map.of("HVD_SHARE_GPU", "1", "HVD_BACKEND", "nccl"),
                        rank -> there().with(new NcclVariables("rank" + rank, "")),
                        rank -> List.of(Device.cuda(0))))
                .allSatisfy(outcome -> assertThat(outcome).startsWith("nccl 2.18.5"));
    }

    @Test
    void ranksThatMayShareAGpuAsNcclsOwnVariableSaysUseNcclIfItIsNewEnough() throws Exception {
        NcclVariables multiRank = new NcclVariables("", "1");
        Map<String, String> sharing = Map.of("HVD_SHARE_GPU", "1", "HVD_BACKEND", "nccl");

        assertThat(open(sharing, rank -> there(23007).with(multiRank), rank -> List.of(Device.cuda(0))))
                .allSatisfy(outcome -> assertThat(outcome).startsWith("nccl 2.30.7"));
        assertThat(open(sharing, rank -> there().with(multiRank), rank -> List.of(Device.cuda(0))))
                .allSatisfy(outcome -> assertThat(outcome)
                        .contains(ErrorId.UNSUPPORTED.code(), "2.18.5 does not know", "2.30.0 or newer"));
    }

    /** NCCL's own refusal is a number that says nothing of the GPU. */
    @Test
    void ranksThatShareAGpuUnderOneHostIdFailWithTheirNamesAndTheVariable() throws Exception {
        assertThat(open(
                        Map.of("HVD_SHARE_GPU", "1", "HVD_BACKEND", "nccl"),
                        rank -> there(),
                        rank -> List.of(Device.cuda(0))))
                .allSatisfy(outcome -> assertThat(outcome)
                        .contains(ErrorId.UNSUPPORTED.code(), "rank 0", "rank 1", "0000:65:00.0", "NCCL_HOSTID="));
    }

    @Test
    void ranksOfAProgramThatPicksItsGpuItselfLeaveTheOneThatAllOfThemSeeFirstClosed() throws Exception {
        opener = index -> {
            throw new AssertionError("GPU " + index + " was opened");
        };
        assertThat(open(Map.of("HVD_PIN_GPU", "0"), rank -> there(), rank -> List.of(Device.cuda(0))))
                .allSatisfy(outcome -> assertThat(outcome)
                        .startsWith("local")
                        .contains("no tensors on GPUs", "HVD_PIN_GPU=0", "0000:65:00.0", "HVD_SHARE_GPU=1"));
    }

    @Test
    void withoutPinningRanksToWhichTheirOwnGpusAreShownUseNccl() throws Exception {
        assertThat(open(Map.of("HVD_PIN_GPU", "0"), rank -> there(), NcclProviderTest::own))
                .allSatisfy(outcome -> assertThat(outcome).startsWith("nccl 2.18.5"));
        assertThat(open(
                        Map.of("HVD_PIN_GPU", "0", "HVD_SHARE_GPU", "1"),
                        rank -> there(),
                        rank -> List.of(Device.cuda(0))))
                .allSatisfy(outcome -> assertThat(outcome).startsWith("local").contains("without NCCL"));
    }

    /** A rank whose driver is too old for hvd's kernels: no rank has a use for NCCL then. */
    @Test
    void aGpuThatCannotBeReachedIsNamedAndItsTensorsAreRefused() throws Exception {
        opener = index -> {
            if (index == 1) {
                throw new HvdException(ErrorId.UNSUPPORTED, "the NVIDIA driver is made for CUDA 9.0");
            }
            return new SimulatedGpu().device();
        };
        assertThat(open(Map.of(), rank -> there(), NcclProviderTest::own))
                .allSatisfy(outcome -> assertThat(outcome).contains("no tensors on GPUs", "CUDA 9.0", "[1]"));
    }

    /** Else one rank would refuse what the others wait for. */
    @Test
    void besideARankWithoutAGpuTensorsOnGpusAreReachedByNobody() throws Exception {
        NcclPresence noLibrary = new NcclPresence(null, GPUS, "NCCL did not load: libnccl.so.2");
        List<LocalProvider> team = LocalProvider.ofThreads(2, 4096);
        List<CompletableFuture<String>> ranks = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            int rank = i;
            NcclProvider provider = new NcclProvider(
                    team.get(rank),
                    (topology, config) -> rank == 0 ? List.of(Device.cuda(0)) : List.of(),
                    () -> rank == 0 ? noLibrary : NO_GPU,
                    index -> new SimulatedGpu().device());
            ranks.add(CompletableFuture.supplyAsync(() -> {
                Backend backend = provider.open(HvdConfig.from(Map.of()), List.of());
                return rank + " " + reaches(backend) + " " + backend.description();
            }));
        }
        for (CompletableFuture<String> rank : ranks) {
            assertThat(rank.get()).contains(" false ", "no driver is loaded", "[1]");
        }
    }

    /** MPI takes it ill if a communicator is freed twice, or is gone when the ranks meet for the last time. */
    @Test
    void theHostsOwnDataPlaneIsLeftToItAndThatOfAProcessSetIsClosedOnce() {
        for (NcclPresence found : List.of(there(), new NcclPresence(null, GPUS, "libnccl.so.2 is hidden"))) {
            List<String> closed = new ArrayList<>();
            LocalProvider local = LocalProvider.ofThreads(1, 4096).get(0);
            BackendProvider host = new BackendProvider() {
                @Override
                public String name() {
                    return local.name();
                }

                @Override
                public Executor communicationThread() {
                    return local.communicationThread();
                }

                @Override
                public Backend open(HvdConfig config, List<Integer> ranks) {
                    return counting(local.open(config, ranks), closed);
                }
            };
            NcclProvider provider = new NcclProvider(
                    host,
                    (topology, config) -> List.of(Device.cuda(0)),
                    () -> found,
                    index -> new SimulatedGpu().device());
            Backend backend = provider.open(HvdConfig.from(Map.of()), List.of());
            Collectives set = backend.collectives(List.of(0));

            set.close();
            assertThat(closed).containsExactly("process set");
            backend.close();
            assertThat(closed).containsExactly("process set", "back end");
        }
    }

    /** A back end whose data planes say when they are closed. */
    private static Backend counting(Backend inner, List<String> closed) {
        return inner.with(inner.description(), new Recomposed.Planes(inner) {
            @Override
            public DataPlane ofAll() {
                return counting(super.ofAll(), "world", closed);
            }

            @Override
            public DataPlane of(List<Integer> members) {
                return counting(super.of(members), "process set", closed);
            }

            @Override
            public void close() {
                closed.add("back end");
                super.close();
            }
        });
    }

    private static DataPlane counting(DataPlane inner, String name, List<String> closed) {
        return (DataPlane) Proxy.newProxyInstance(
                DataPlane.class.getClassLoader(), new Class<?>[] {DataPlane.class}, (proxy, method, args) -> {
                    if (method.getName().equals("close")) {
                        closed.add(name);
                    }
                    return method.invoke(inner, args);
                });
    }

    private static List<Device> own(int rank) {
        return List.of(Device.cuda(rank));
    }

    private NcclPresence there() {
        return there(21805);
    }

    private NcclPresence there(int version) {
        return new NcclPresence(new SimulatedNccl(new SimulatedGpu(), fabric).ofVersion(version), GPUS, "");
    }

    /** Opens two ranks at once; for each, the back end's description or the message of what it threw. */
    private List<String> open(
            Map<String, String> environment, IntFunction<NcclPresence> found, IntFunction<List<Device>> assigned)
            throws Exception {
        List<LocalProvider> team = LocalProvider.ofThreads(2, 4096);
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            List<Future<String>> outcomes = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                int rank = i;
                NcclProvider provider = new NcclProvider(
                        team.get(rank),
                        (topology, config) -> assigned.apply(topology.localRank()),
                        () -> found.apply(rank),
                        index -> opener.apply(index));
                outcomes.add(threads.submit(() -> outcome(provider, environment)));
            }
            return List.of(outcomes.get(0).get(), outcomes.get(1).get());
        } finally {
            threads.shutdown();
        }
    }

    private static String outcome(NcclProvider provider, Map<String, String> environment) {
        try {
            return provider.open(HvdConfig.from(environment), List.of()).description();
        } catch (HvdException e) {
            return e.getMessage();
        }
    }

    private static boolean reaches(Backend backend) {
        return backend.collectives()
                .refuses(OpKind.BROADCAST, Device.cuda(0), DType.FLOAT32, null)
                .isEmpty();
    }
}
