package io.hvd;

import io.hvd.config.GpuSettings;
import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.GpuDriver;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.IntStream;

/** Gives each rank of a host its own GPUs: with one each, local rank n takes the n-th visible one. */
final class GpuAssignment {
    private GpuAssignment() {}

    /** Chooses, and makes the first of them the current device of the calling thread. */
    static List<Device> assign(Topology topology, HvdConfig config) {
        for (GpuDriver driver : ServiceLoader.load(GpuDriver.class)) {
            List<Gpu> visible = driver.visible();
            if (!visible.isEmpty()) {
                List<Device> devices = choose(topology, visible, config.gpu());
                if (config.gpu().pin()) {
                    driver.select(devices.get(0).index());
                }
                return devices;
            }
        }
        return List.of();
    }

    static List<Device> choose(Topology topology, List<Gpu> visible, GpuSettings settings) {
        int each = settings.perRank();
        int first = settings.pin() ? topology.localRank() * each : 0;
        int needed = settings.pin() ? topology.localSize() * each : each;
        boolean enough = settings.pin() && settings.share() ? each <= visible.size() : needed <= visible.size();
        if (!enough) {
            throw new HvdException(ErrorId.NO_DEVICE, tooFew(topology, visible, settings));
        }
        return IntStream.range(first, first + each)
                .mapToObj(i -> Device.cuda(visible.get(i % visible.size()).index()))
                .toList();
    }

    private static String tooFew(Topology topology, List<Gpu> visible, GpuSettings settings) {
        String each = settings.perRank() == 1 ? "" : " with " + settings.perRank() + " GPUs each (HVD_GPUS_PER_RANK)";
        return "host " + topology.host() + " has " + topology.localSize() + " ranks" + each + " but only "
                + visible.size() + " visible GPU(s): " + visible + "; rank " + topology.rank() + " (local rank "
                + topology.localRank() + ") has too few of its own. Start fewer ranks on this host, widen"
                + " CUDA_VISIBLE_DEVICES, or set HVD_SHARE_GPU=1; where the launcher shows every rank"
                + " its own GPUs only, set HVD_PIN_GPU=0";
    }
}
