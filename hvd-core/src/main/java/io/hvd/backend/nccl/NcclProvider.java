package io.hvd.backend.nccl;

import io.hvd.config.HvdConfig;
import io.hvd.config.HvdConfig.BackendChoice;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.Supplier;

/**
 * NCCL for tensors on GPUs over another back end that carries the control plane and the host's
 * tensors. Where NCCL cannot be used that other back end does the work alone, unless NCCL was asked for
 * by name.
 */
public final class NcclProvider implements BackendProvider {
    /** Differs between machines, and is the same in all containers of one. */
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    private final BackendProvider host;
    private final BiFunction<Topology, HvdConfig, Device> assignment;
    private final Supplier<NcclPresence> presence;

    /**
     * @param host brings the control plane and the collectives between hosts
     * @param assignment names this rank's GPU and makes it the calling thread's current one
     */
    public NcclProvider(BackendProvider host, BiFunction<Topology, HvdConfig, Device> assignment) {
        this(host, assignment, NcclPresence::ofThisProcess);
    }

    NcclProvider(
            BackendProvider host, BiFunction<Topology, HvdConfig, Device> assignment, Supplier<NcclPresence> presence) {
        this.host = host;
        this.assignment = assignment;
        this.presence = presence;
    }

    /** NCCL's own number for its version, or 0 where it cannot be used. */
    public static int installedVersion() {
        NcclCalls calls = NcclPresence.ofThisProcess().calls();
        return calls == null ? 0 : calls.versionCode();
    }

    /** GPUs that this process sees. */
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
        Device[] device = {Device.CPU};
        Muster muster = muster(opened, card(opened.topology(), config, nccl, device));
        boolean insisted = config.backend() == BackendChoice.NCCL;
        boolean sharing = config.shareGpu() || !(config.pinGpu() || insisted);
        Optional<String> obstacle = obstacle(opened, muster, insisted, sharing);
        if (obstacle.isEmpty()) {
            return NcclBackend.joined(opened, nccl.calls(), device[0]);
        }
        return muster.hasGpus() ? NcclBackend.withoutNccl(opened, obstacle.get()) : opened;
    }

    @Override
    public void finish() {
        host.finish();
    }

    /** Every rank comes to the same end here, so the host's back end can be left in order. */
    private static Optional<String> obstacle(Backend opened, Muster muster, boolean insisted, boolean sharing) {
        try {
            muster.requireSound(sharing);
            Optional<String> obstacle = muster.obstacle(insisted);
            if (insisted && obstacle.isPresent()) {
                throw new HvdException(
                        ErrorId.UNSUPPORTED,
                        "HVD_BACKEND=nccl, but NCCL cannot be used: " + obstacle.get()
                                + ". HVD_BACKEND=mpi does without; horovodrun --check-build shows what is installed");
            }
            return obstacle;
        } catch (HvdException e) {
            opened.close();
            throw e;
        }
    }

    private RankCard card(Topology topology, HvdConfig config, NcclPresence nccl, Device[] device) {
        String machine = machine(topology);
        if (nccl.gpus().isEmpty()) {
            return new RankCard(machine, "", "", nccl.missing(), "");
        }
        try {
            device[0] = assignment.apply(topology, config);
            String version = nccl.calls() == null ? "" : nccl.calls().version();
            return new RankCard(machine, pciId(nccl.gpus(), device[0]), version, nccl.missing(), "");
        } catch (RuntimeException e) {
            // The others wait for this card: they hear of it and throw alike.
            return new RankCard(machine, "", "", "", e.getMessage());
        }
    }

    private static Muster muster(Backend opened, RankCard mine) {
        List<RankCard> cards =
                opened.exchange(mine.encode()).stream().map(RankCard::decode).toList();
        return new Muster(cards, opened.topology().hosts());
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
