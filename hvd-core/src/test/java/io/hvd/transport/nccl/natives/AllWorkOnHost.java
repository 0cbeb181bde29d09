package io.hvd.transport.nccl.natives;

import io.hvd.cuda.CudaDevice;
import io.hvd.cuda.CudaEvent;
import io.hvd.cuda.CudaStream;
import io.hvd.cuda.DeviceStage;
import io.hvd.cuda.PinnedStage;
import io.hvd.error.HvdException;

/** Records an event after all work of a context, on the driver that runs on the CPU, in a process of its own. */
public final class AllWorkOnHost {
    private static final int BYTES = 1 << 20;

    private AllWorkOnHost() {}

    /** The streams of this driver do nothing before somebody waits for them. */
    public static void main(String[] args) {
        CudaDevice device = CudaDevice.open(0);
        CudaStream users = device.createStream();
        CudaStream own = device.createStream();
        DeviceStage memory = device.allocate(BYTES);
        PinnedStage written = device.allocatePinned(BYTES);
        written.buffer().put(BYTES - 1, (byte) 7);
        written.copyToDevice(0, memory.address(), BYTES, users.handle());

        CudaEvent end = device.recordEvent(InstalledNccl::recordAll);
        System.out.println("REACHED AT ONCE " + end.isReached());
        end.await();
        System.out.println("REACHED " + end.isReached());
        PinnedStage read = device.allocatePinned(BYTES);
        read.copyFromDevice(memory.address(), 0, BYTES, own.handle());
        own.await();
        System.out.println("WRITTEN " + read.buffer().get(BYTES - 1));
        try {
            device.recordEvent((context, event) -> InstalledNccl.recordAll(context + 8, event));
        } catch (HvdException e) {
            System.out.println("REFUSED " + e.getMessage());
        }
    }
}
