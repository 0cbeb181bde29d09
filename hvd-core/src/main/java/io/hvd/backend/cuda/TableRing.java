package io.hvd.backend.cuda;

import java.nio.ByteBuffer;

/**
 * Places for tables of segments, taken in turn: each is a pinned buffer, device memory of the same length and an event.
 * A place is written again only when the event behind its last use is reached; the ring waits for that on the host,
 * which several places make rare.
 */
final class TableRing {
    /** Enough for most models, so that places seldom grow. */
    private static final int FIRST_BYTES = 256 * SegmentTable.ROW_BYTES;

    private final CudaCalls cuda;
    private final Slot[] slots;
    private int next;

    TableRing(CudaCalls cuda, int places) {
        this.cuda = cuda;
        this.slots = new Slot[places];
    }

    /** The next place, free to be written, with room for so many bytes. */
    Slot take(int bytes) {
        Slot slot = slots[next];
        if (slot == null) {
            slot = new Slot(cuda.createEvent());
            slots[next] = slot;
        }
        next = (next + 1) % slots.length;
        slot.makeFree();
        slot.makeRoom(bytes);
        return slot;
    }

    /** Waits until no table is in use. */
    void close() {
        for (Slot slot : slots) {
            if (slot != null) {
                slot.close();
            }
        }
    }

    /** One place. */
    final class Slot {
        private final long event;
        private ByteBuffer host;
        private long device;
        private boolean inUse;

        private Slot(long event) {
            this.event = event;
        }

        ByteBuffer host() {
            return host;
        }

        long device() {
            return device;
        }

        /** Queues the copy to the device. */
        void send(int bytes, long stream) {
            cuda.copyToDevice(device, host, 0, bytes, stream);
        }

        /** The place is in use until what is now queued on the stream is done. To be called after every send. */
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

        private void makeRoom(int bytes) {
            if (host != null && host.capacity() >= bytes) {
                return;
            }
            release();
            int room = Math.max(FIRST_BYTES, Integer.highestOneBit(Math.max(1, bytes - 1)) << 1);
            host = cuda.allocatePinned(room);
            device = cuda.allocate(room);
        }

        private void release() {
            if (host != null) {
                cuda.freePinned(host);
                cuda.free(device);
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
