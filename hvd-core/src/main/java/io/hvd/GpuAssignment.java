package io.hvd;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.GpuDriver;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import java.util.List;
import java.util.ServiceLoader;

/** Gives each rank of a host its own GPU: local rank n takes the n-th visible one. */
final class GpuAssignment {
    private GpuAssignment() {}

    /** Chooses, and makes the choice the current device of the calling thread. */
    static Device assign(Topology topology, HvdConfig config) {
        for (GpuDriver driver : ServiceLoader.load(GpuDriver.class)) {
            List<Gpu> visible = driver.visible();
            if (!visible.isEmpty()) {
                Device device = choose(topology, visible, config);
                if (config.gpu().pin()) {
                    driver.select(device.index());
                }
                return device;
            }
        }
        return Device.CPU;
    }

    static Device choose(Topology topology, List<Gpu> visible, HvdConfig config) {
        if (!config.gpu().pin()) {
            return Device.cuda(0);
        }
        if (topology.localSize() > visible.size() && !config.gpu().share()) {
            throw new HvdException(
                    ErrorId.NO_DEVICE,
                    "host " + topology.host() + " has " + topology.localSize() + " ranks but only " + visible.size()
                            + " visible GPU(s): " + visible + "; rank " + topology.rank() + " (local rank "
                            + topology.localRank() + ") has none of its own. Start fewer ranks on this host, widen"
                            + " CUDA_VISIBLE_DEVICES, or set HVD_SHARE_GPU=1; where the launcher shows every rank"
                            + " its own GPU only, set HVD_PIN_GPU=0");
        }
        return Device.cuda(visible.get(topology.localRank() % visible.size()).index());
    }
}
