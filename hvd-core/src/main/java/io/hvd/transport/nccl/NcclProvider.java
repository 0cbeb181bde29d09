package io.hvd.transport.nccl;

import io.hvd.config.GpuSettings;
import io.hvd.config.HvdConfig;
import io.hvd.config.HvdConfig.BackendChoice;
import io.hvd.config.HvdProgram;
import io.hvd.cuda.CudaDevice;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import io.hvd.transport.nccl.natives.NcclCalls;
import io.hvd.transport.nccl.natives.NcclPresence;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * Provides NCCL for tensors on GPUs, on top of another back end that carries the control plane and the host's
 * tensors. If NCCL cannot be used, the other back end works alone, unless the settings ask for NCCL by name.
 */
public final class NcclProvider implements BackendProvider {
    /** The file with the boot id, which differs between machines and is the same in all containers of one machine. */
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    private final BackendProvider host;
    private final BiFunction<Topology, HvdConfig, List<Device>> assignment;
    private final Supplier<NcclPresence> presence;
    private final IntFunction<CudaDevice> opener;

    /**
     * @param host provides the control plane and the collectives between hosts
     * @param assignment names this rank's GPUs and makes the first the calling thread's current one
     */
    public NcclProvider(BackendProvider host, BiFunction<Topology, HvdConfig, List<Device>> assignment) {
        this(host, assignment, NcclPresence::ofThisProcess, CudaDevice::open);
    }

    /** @param opener opens a GPU by its index */
    NcclProvider(
            BackendProvider host,
            BiFunction<Topology, HvdConfig, List<Device>> assignment,
            Supplier<NcclPresence> presence,
            IntFunction<CudaDevice> opener) {
        this.opener = opener;
        this.host = host;
        this.assignment = assignment;
        this.presence = presence;
    }

    /** NCCL's own number for its version, or 0 if NCCL cannot be used. */
    public static int installedVersion() {
        NcclCalls calls = NcclPresence.ofThisProcess().calls();
        return calls == null ? 0 : calls.versionCode();
    }

    /** The number of GPUs that this process sees. */
    public static int gpus() {
        return NcclPresence.ofThisProcess().gpus().size();
    }

    @Override
    public String name() {
        return "nccl over " + host.name();
    }

    @Override
    public Executor communicationThread() {
        return host.communicationThread();
    }

    @Override
    public Backend open(HvdConfig config, List<Integer> ranks) {
        Backend opened = host.open(config, ranks);
        NcclPresence nccl = presence.get();
        Found found = new Found();
        NcclFacts mine = facts(opened.topology(), config, nccl, found);
        String closed =
                choice(opened, mine).whyNotOpened(config.gpu()).orElseGet(() -> unreached(found, nccl.calls(), config));
        NcclChoice choice = choice(opened, mine.withUnreached(closed));
        boolean insisted = config.backend() == BackendChoice.NCCL;
        boolean sharing = config.gpu().share() || !(config.gpu().pin() || insisted);
        Optional<String> obstacle = obstacle(opened, choice, insisted, sharing);
        if (obstacle.isEmpty()) {
            return joined(opened, nccl.calls(), found.gpus, config.gpu(), choice.processes());
        }
        if (!choice.hasGpus()) {
            return opened;
        }
        Optional<String> unreached = choice.unreached();
        return unreached.isEmpty()
                ? throughHost(opened, found.gpus, config.gpu(), choice.withoutGpu(), obstacle.get())
                : opened.with(opened.description() + ", no tensors on GPUs (" + unreached.get() + ")", opened.planes());
    }

    /**
     * A back end with NCCL; all ranks call this together, each with its own GPUs.
     *
     * @param processes which ranks are threads of one process
     */
    private static Backend joined(
            Backend host, NcclCalls nccl, List<RankGpu> gpus, GpuSettings settings, RankProcesses processes) {
        GpuPlanes planes = new GpuPlanes(host, gpus, nccl, settings, Set.of(), processes);
        return host.with("nccl " + nccl.version() + planes.wayAcrossNodes() + " over " + host.description(), planes);
    }

    /**
     * A back end for GPUs without NCCL; tensors on GPUs go through the host.
     *
     * @param gpus the GPUs of this rank; empty if it has none
     * @param withoutGpu all ranks that have no GPU
     */
    private static Backend throughHost(
            Backend host, List<RankGpu> gpus, GpuSettings settings, Set<Integer> withoutGpu, String why) {
        return host.with(
                host.description() + ", GPU tensors through the host without NCCL (" + why + ")",
                gpus.isEmpty() ? host.planes() : new GpuPlanes(host, gpus, null, settings, withoutGpu, null));
    }

    /** The GPUs that this rank has opened; none if it has no GPU, or if its GPU cannot be used. */
    private static final class Found {
        private List<Device> devices = List.of();
        private final List<RankGpu> gpus = new ArrayList<>();
    }

    /**
     * The reason why NCCL cannot be used, if there is one. All ranks come to one result, so after an error each of them
     * can close the host back end in order.
     */
    private static Optional<String> obstacle(Backend opened, NcclChoice choice, boolean insisted, boolean sharing) {
        try {
            choice.requireSound(sharing);
            Optional<String> obstacle = choice.obstacle(insisted);
            if (insisted && obstacle.isPresent()) {
                throw new HvdException(
                        ErrorId.UNSUPPORTED,
                        "HVD_BACKEND=nccl, but NCCL cannot be used: " + obstacle.get()
                                + ". HVD_BACKEND=mpi does without; "
                                + HvdProgram.HOROVODRUN.eitherWay("--check-build") + " shows what is installed");
            }
            return obstacle;
        } catch (HvdException e) {
            opened.close();
            throw e;
        }
    }

    /** Makes this rank's facts, which name its GPUs. It opens no GPU yet, because a context costs GPU memory. */
    private NcclFacts facts(Topology topology, HvdConfig config, NcclPresence nccl, Found found) {
        String machine = machine(topology);
        String ways = config.gpu().across() + " with HVD_GPU_STAGE_BYTES="
                + config.gpu().stageBytes();
        if (nccl.gpus().isEmpty()) {
            return new NcclFacts(
                    machine, nccl.variables(), nccl.process(), List.of(), "", nccl.missing(), "", ways, "");
        }
        try {
            found.devices = assignment.apply(topology, config);
            String version = nccl.calls() == null ? "" : nccl.calls().version();
            List<String> pciIds = found.devices.stream()
                    .map(device -> pciId(nccl.gpus(), device))
                    .toList();
            return new NcclFacts(
                    machine, nccl.variables(), nccl.process(), pciIds, version, nccl.missing(), "", ways, "");
        } catch (RuntimeException e) {
            // The other ranks wait for these facts. They get the error in them, and throw the same exception.
            return new NcclFacts(
                    machine, nccl.variables(), nccl.process(), List.of(), "", "", "", ways, e.getMessage());
        }
    }

    /** Opens the GPUs; returns the reason if one of them cannot be opened. */
    private String unreached(Found found, NcclCalls nccl, HvdConfig config) {
        try {
            for (Device device : found.devices) {
                CudaDevice cuda = opener.apply(device.index());
                boolean recordsAllWork = nccl != null && cuda.driverVersion() >= NcclCalls.OLDEST_DRIVER_FOR_ALL_WORK;
                found.gpus.add(
                        new RankGpu(cuda, device, config.gpu(), recordsAllWork ? nccl::recordAfterAllWork : null));
            }
            return "";
        } catch (HvdException e) {
            found.gpus.forEach(RankGpu::close);
            found.gpus.clear();
            return e.getMessage();
        }
    }

    private static NcclChoice choice(Backend opened, NcclFacts mine) {
        List<NcclFacts> all =
                opened.exchange(mine.encode()).stream().map(NcclFacts::decode).toList();
        return new NcclChoice(all, opened.topology().hosts());
    }

    private static String pciId(List<Gpu> gpus, Device device) {
        return gpus.stream()
                .filter(gpu -> gpu.index() == device.index())
                .map(Gpu::pciId)
                .findFirst()
                .orElseThrow(() -> new HvdException(
                        ErrorId.NO_DEVICE, "this rank was assigned " + device + ", visible are " + gpus));
    }

    private static String machine(Topology topology) {
        try {
            return Files.readString(BOOT_ID).strip();
        } catch (IOException e) {
            return topology.host();
        }
    }
}
