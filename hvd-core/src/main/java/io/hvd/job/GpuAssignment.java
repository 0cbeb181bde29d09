package io.hvd.job;

import io.hvd.config.GpuSettings;
import io.hvd.config.HvdConfig;
import io.hvd.config.HvdConfig.BackendChoice;
import io.hvd.config.SlurmPlace;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.GpuDriver;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.IntStream;

/** Gives each rank of a host its own GPUs: with one each, local rank n takes the n-th visible one. */
final class GpuAssignment {
    private GpuAssignment() {}

    /** Chooses, and makes the first of them the current device of the calling thread. */
    static List<Device> assign(Topology topology, HvdConfig config) {
        return assign(topology, config, ServiceLoader.load(GpuDriver.class));
    }

    /** As {@link #assign(Topology, HvdConfig)}, for a rank that is a thread. */
    static List<Device> ofThread(Topology topology, HvdConfig config) {
        return BackendSelection.takesGpus(config) ? assign(topology, config) : List.of();
    }

    /** The back end mpi takes no tensors on GPUs, so a job that asks for it by name leaves the drivers alone. */
    static List<Device> assign(Topology topology, HvdConfig config, Iterable<GpuDriver> drivers) {
        if (config.backend() == BackendChoice.MPI) {
            return List.of();
        }
        for (GpuDriver driver : drivers) {
            List<Gpu> visible = driver.visible();
            if (!visible.isEmpty()) {
                List<Device> devices = choose(topology, visible, config);
                if (config.gpu().pin()) {
                    driver.select(devices.get(0).index());
                }
                return devices;
            }
        }
        return List.of();
    }

    /** Those that the scheduler has given to a rank that is a task, if it takes any; as for a thread if it has given none. */
    static List<Device> ofTask(TaskPlace place, Topology topology, HvdConfig config) {
        return place.gpus().isEmpty() || !BackendSelection.takesGpus(config)
                ? ofThread(topology, config)
                : given(place.gpus(), topology, config, ServiceLoader.load(GpuDriver.class));
    }

    static List<Device> given(List<Integer> numbers, Topology topology, HvdConfig config, Iterable<GpuDriver> drivers) {
        List<Integer> seen = new ArrayList<>();
        for (GpuDriver driver : drivers) {
            List<Integer> visible = driver.visible().stream().map(Gpu::index).toList();
            if (visible.containsAll(numbers)) {
                if (config.gpu().pin()) {
                    driver.select(numbers.get(0));
                }
                return numbers.stream().map(Device::cuda).toList();
            }
            seen.addAll(visible);
        }
        throw new HvdException(
                ErrorId.NO_DEVICE,
                "the scheduler has given GPUs " + numbers + " to rank " + topology.rank() + ", but its process on host "
                        + topology.host() + " sees " + (seen.isEmpty() ? "none" : "only " + seen)
                        + ": CUDA's driver or libraries are missing there, or CUDA_VISIBLE_DEVICES hides them");
    }

    /** These devices as the driver names them. */
    static List<Gpu> gpus(List<Device> devices) {
        return devices.isEmpty()
                ? List.of()
                : ServiceLoader.load(GpuDriver.class).stream()
                        .flatMap(driver -> driver.get().visible().stream())
                        .filter(gpu -> devices.contains(Device.cuda(gpu.index())))
                        .toList();
    }

    static List<Device> choose(Topology topology, List<Gpu> visible, HvdConfig config) {
        GpuSettings settings = config.gpu();
        int each = settings.perRank();
        boolean counted = settings.pin() && !slurmShowsEachItsOwn(topology, visible, config);
        int first = counted ? topology.localRank() * each : 0;
        int needed = counted && !settings.share() ? topology.localSize() * each : each;
        if (needed > visible.size()) {
            List<Integer> without = needed > each ? beyond(topology, visible.size() / each) : List.of(topology.rank());
            throw new HvdException(ErrorId.NO_DEVICE, tooFew(topology, visible, config, without));
        }
        return IntStream.range(first, first + each)
                .mapToObj(i -> Device.cuda(visible.get(i % visible.size()).index()))
                .toList();
    }

    /** With --gpus-per-task or --gpu-bind, Slurm has done the counting: what a task sees belongs to it alone. */
    private static boolean slurmShowsEachItsOwn(Topology topology, List<Gpu> visible, HvdConfig config) {
        int all = topology.localSize() * config.gpu().perRank();
        return config.started()
                .slurm()
                .filter(SlurmPlace::ownGpus)
                .filter(slurm -> slurm.task().isPresent() && slurm.gpusOnNode().orElse(0) >= all)
                .filter(slurm -> visible.size() < slurm.gpusOnNode().getAsInt())
                .isPresent();
    }

    /** The ranks of this host for which nothing is left once so many of them have been served. */
    private static List<Integer> beyond(Topology topology, int served) {
        int here = topology.nodes().get(topology.rank());
        return IntStream.range(0, topology.size())
                .filter(rank -> topology.nodes().get(rank) == here)
                .skip(served)
                .boxed()
                .toList();
    }

    private static String tooFew(Topology topology, List<Gpu> visible, HvdConfig config, List<Integer> without) {
        int perRank = config.gpu().perRank();
        String each = perRank == 1 ? "" : " with " + perRank + " GPUs each (HVD_GPUS_PER_RANK)";
        return "host " + topology.host() + " has " + topology.localSize() + " ranks" + each + " but only "
                + visible.size() + " visible GPU(s): " + visible + ", too few for "
                + (without.size() == 1 ? "rank " + without.get(0) : "ranks " + without)
                + ". Start fewer ranks on this host, widen"
                + " CUDA_VISIBLE_DEVICES, or set HVD_SHARE_GPU=1; where the launcher shows every rank"
                + " its own GPUs only, set HVD_PIN_GPU=0. A job that computes on the CPU sets HVD_BACKEND=mpi"
                + config.started()
                        .slurm()
                        .map(slurm -> slurm.gpuAdvice(topology.localSize(), perRank, visible.size()))
                        .orElse("");
    }
}
