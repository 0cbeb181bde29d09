package io.hvd.cuda;

import io.hvd.buffer.BufferLedger.Owner;
import java.nio.ByteBuffer;

/**
 * A ring of slots for tables of segments. A slot has a pinned buffer, device memory of the same length and an event.
 * A slot is written again only when the event after its last use is reached. The host waits for that, which is rare
 * because there are several slots.
 */
final class TableRing {
    /** The first size of a slot, which is enough for most models. */
    private static final int FIRST_BYTES = 256 * SegmentTable.ROW_BYTES;

    private final CudaCalls cuda;
    private final Slot[] slots;
    private int next;

    TableRing(CudaCalls cuda, int places) {
        this.cuda = cuda;
        this.slots = new Slot[places];
    }

    /** The next slot, which can be written, with room for this number of bytes. */
    Slot take(int bytes) {
        Slot slot = slot(next);
        next = (next + 1) % slots.length;
        slot.makeFree();
        slot.makeRoom(bytes);
        return slot;
    }

    /** Makes room for this number of bytes in every slot; waits for those that are in use and too small. */
    void reserve(int bytes) {
        for (int i = 0; i < slots.length; i++) {
            Slot slot = slot(i);
            if (!slot.hasRoom(bytes)) {
                slot.makeFree();
                slot.makeRoom(bytes);
            }
        }
    }

    private Slot slot(int place) {
        if (slots[place] == null) {
            slots[place] = new Slot(cuda.createEvent());
        }
        return slots[place];
    }

    /** Waits until no table is in use. */
    void close() {
        for (Slot slot : slots) {
            if (slot != null) {
                slot.close();
            }
        }
    }

    /** One slot of the ring. */
    final class Slot {
        private final long event;
        private PinnedStage host;
        private DeviceStage device;
        private boolean inUse;

        private Slot(long event) {
            this.event = event;
        }

        ByteBuffer host() {
            return host.buffer();
        }

        long device() {
            return device.address();
        }

        /** Queues the copy to the device. */
        void send(int bytes, long stream) {
            host.copyToDevice(0, device.address(), bytes, stream);
        }

        /** Keeps the slot in use until the work that is now queued on the stream is done; called after every send. */
        void keepFor(long stream) {
            cuda.recordEvent(event, stream);
            inUse = true;
        }

        private void makeFree() {
            if (inUse) {
                cuda.awaitEvent(event);
                inUse = false;
            }
        }

        private boolean hasRoom(int bytes) {
            return host != null && host.buffer().capacity() >= bytes;
        }

        private void makeRoom(int bytes) {
            if (hasRoom(bytes)) {
                return;
            }
            release();
            int room = Math.max(FIRST_BYTES, Integer.highestOneBit(Math.max(1, bytes - 1)) << 1);
            host = new PinnedStage(cuda, Owner.GPU_BATCHES, room);
            device = new DeviceStage(cuda, Owner.GPU_BATCHES, room);
        }

        private void release() {
            if (host != null) {
                host.close();
                device.close();
                host = null;
            }
        }

        private void close() {
            makeFree();
            release();
            cuda.destroyEvent(event);
        }
    }
}
