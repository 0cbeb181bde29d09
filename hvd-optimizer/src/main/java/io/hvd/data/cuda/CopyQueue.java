package io.hvd.data.cuda;

import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.cuda.CudaDevice;
import io.hvd.cuda.CudaEvent;
import io.hvd.cuda.CudaStream;
import io.hvd.cuda.DeviceStage;
import io.hvd.tensor.Device;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * Copies batches to two buffers on the GPU in turn, on a stream of its own. Of two copies that are under way the
 * older is waited for before a third begins, so that pinned buffers come back.
 */
final class CopyQueue implements AutoCloseable {
    private static final int MOST_UNDER_WAY = 1;

    private final FieldOffsets offsets;
    private final Device device;
    private final long user;
    private final CudaStream stream;
    private final List<DeviceStage> targets;
    private final Deque<Copy> underWay = new ArrayDeque<>();
    private int sent;

    /** @param user the stream on which batches are used */
    CopyQueue(CudaDevice cuda, Device device, long user, FieldOffsets offsets) {
        this.offsets = offsets;
        this.device = device;
        this.user = user;
        this.stream = cuda.createStream();
        this.targets = List.of(cuda.allocate(Owner.DATA, offsets.bytes()), cuda.allocate(Owner.DATA, offsets.bytes()));
    }

    private record Copy(PinnedBatches.Filled from, CudaEvent done) {}

    /** The next copy waits for the work that is queued on the user's stream by now. */
    void followUser() {
        stream.follow(user);
    }

    /** Work that the user queues from now on waits for the copies that are queued now. */
    void holdBackUser() {
        stream.holdBack(user);
    }

    /** Gives back the pinned buffers of copies that are done. */
    void reclaim() {
        while (!underWay.isEmpty()
                && (underWay.size() > MOST_UNDER_WAY || underWay.peek().done().isReached())) {
            finish(underWay.remove());
        }
    }

    private static void finish(Copy copy) {
        copy.done().await();
        copy.done().close();
        copy.from().close();
    }

    /** Queues the copy of a batch. */
    DeviceBatch send(PinnedBatches.Filled batch) {
        long target = targets.get(sent++ % targets.size()).address();
        for (int field = 0; field < offsets.count(); field++) {
            int at = offsets.start(field);
            batch.memory().copyToDevice(at, target + at, offsets.bytes(field, batch.size()), stream.handle());
        }
        underWay.add(new Copy(batch, stream.recordEvent()));
        return new DeviceBatch(batch.size(), offsets.tensors(target, device, user, batch.size()));
    }

    /** Waits for the copies; the batches must not be in use any more. */
    @Override
    public void close() {
        underWay.forEach(CopyQueue::finish);
        underWay.clear();
        stream.await();
        targets.forEach(DeviceStage::close);
        stream.close();
    }
}
