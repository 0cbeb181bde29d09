package io.hvd.tensor;

import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Caches typed views of the last few staging buffers, so that moving a run of elements makes no object. Not thread-safe: one
 * per thread. The garbage collector does not free a buffer whose view is cached, so this is not for the users' memory.
 */
final class Views {
    private static final int MOST = 8;

    private final ByteBuffer[] buffers = new ByteBuffer[MOST];
    private final DType[] types = new DType[MOST];
    private final Buffer[] views = new Buffer[MOST];
    private int oldest;

    /** All elements of a buffer, from its first byte on; for {@link Bulk}. */
    Buffer of(ByteBuffer buffer, DType type) {
        for (int i = 0; i < MOST; i++) {
            if (buffers[i] == buffer && types[i] == type) {
                return views[i];
            }
        }
        Buffer view = Bulk.view(buffer, type);
        buffers[oldest] = buffer;
        types[oldest] = type;
        views[oldest] = view;
        oldest = (oldest + 1) % MOST;
        return view;
    }
}
