package io.hvd.optimizer.torch;

import io.hvd.tensor.Device;
import java.util.List;
import java.util.Locale;

/**
 * The load that a forward pass of a {@link DataParallel} has put on each device, and the time that it took to do so. On GPUs the times are
 * those of queueing the work, unless something in it waits.
 *
 * @param shares of the devices that had a part of the batch, in their order
 * @param gatheredBytes all outputs together on the first device, which no other device has; with one device that had a part it
 *     is that one's output itself
 * @param copyNanos time to copy the parameters and buffers of the first replica to the others
 * @param scatterNanos time to split the inputs and move the parts to their devices
 * @param computeNanos time in which the replicas ran forward
 * @param gatherNanos time to bring the outputs to the first device and join them
 */
public record DataParallelStats(
        List<Share> shares,
        long gatheredBytes,
        long copyNanos,
        long scatterNanos,
        long computeNanos,
        long gatherNanos) {
    static final DataParallelStats NONE = new DataParallelStats(List.of(), 0, 0, 0, 0, 0);
    private static final double MIB = 1 << 20;

    /**
     * One device's part.
     *
     * @param rows samples of the batch
     * @param stateBytes parameters and buffers, copied before each pass on all devices but the first
     * @param inputBytes its part of the inputs
     * @param outputBytes its outputs
     */
    public record Share(Device device, long rows, long stateBytes, long inputBytes, long outputBytes) {}

    public DataParallelStats {
        shares = List.copyOf(shares);
    }

    /** The bytes that were copied from the first replica to the others. */
    public long copiedBytes() {
        return shares.stream().skip(1).mapToLong(Share::stateBytes).sum();
    }

    /** The share of the time of forward in which the devices did not compute. */
    public double overhead() {
        long extra = copyNanos + scatterNanos + gatherNanos;
        return extra == 0 ? 0 : (double) extra / (extra + computeNanos);
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "%d devices, %.1f MiB of parameters copied in %.2f ms, batch split in %.2f ms, forward %.2f ms, outputs of"
                        + " %.3f MiB gathered on %s in %.2f ms",
                shares.size(),
                copiedBytes() / MIB,
                copyNanos / 1e6,
                scatterNanos / 1e6,
                computeNanos / 1e6,
                gatheredBytes / MIB,
                shares.isEmpty() ? "none" : shares.get(0).device(),
                gatherNanos / 1e6);
    }
}
