package io.hvd.job;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Device;
import java.util.List;

/** The GPUs of one rank, and the places under which all ranks know them. */
final class RankDevices {
    private final int rank;
    private volatile List<Device> assigned = List.of();

    RankDevices(int rank) {
        this.rank = rank;
    }

    void assign(List<Device> devices) {
        assigned = List.copyOf(devices);
    }

    /** Empty if the rank computes on the CPU. */
    List<Device> all() {
        return assigned;
    }

    /** The device of a tensor as all ranks know it: by its place among this rank's own. */
    Device place(String tensor, Device device) {
        if (device.isCpu()) {
            return device;
        }
        if (assigned.isEmpty()) {
            // Refused by the back end, on all ranks alike.
            return Device.cuda(0);
        }
        int place = assigned.indexOf(device);
        if (place < 0) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "tensor \"" + tensor + "\" lies on " + device + ", but rank " + rank + " has " + assigned
                            + "; HVD_GPUS_PER_RANK says how many GPUs a rank has");
        }
        return Device.cuda(place);
    }
}
