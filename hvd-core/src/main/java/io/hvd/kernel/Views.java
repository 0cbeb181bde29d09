package io.hvd.kernel;

import io.hvd.tensor.Bulk;
import io.hvd.tensor.DType;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Caches typed views of staging buffers, so that moving a run of elements makes no object: small messages move through
 * hundreds of places, of which every rank reads the stages of all ranks. Not thread-safe: one per thread. The garbage
 * collector does not free a buffer whose view is cached.
 */
final class Views {
    private record View(ByteBuffer of, DType type, Buffer elements) {}

    private static final int FEW = 8;
    private static final int ALL_PLACES = 16384;
    private static final int SMALLEST_TABLE = 2 * FEW;

    /** With so many views all of them are dropped. */
    private final int most;

    /** A hash table by the buffers' identity, at most half full; a place that is taken passes on to the next one. */
    private View[] table = new View[SMALLEST_TABLE];

    private int size;

    private Views(int most) {
        this.most = most;
    }

    /** Keeps the views of a few buffers, some of which may be the user's, or be made anew for every call. */
    static Views few() {
        return new Views(FEW);
    }

    /** Keeps the views of all places that the ranks of a host share, which live as long as the thread that uses them. */
    static Views ofPlaces() {
        return new Views(ALL_PLACES);
    }

    /** All elements of a buffer, from its first byte on; for {@link Bulk}. */
    Buffer of(ByteBuffer buffer, DType type) {
        View[] views = table;
        int at = place(buffer, type, views.length);
        for (View view = views[at]; view != null; view = views[at]) {
            if (view.of == buffer && view.type == type) {
                return view.elements;
            }
            at = (at + 1) & (views.length - 1);
        }
        return added(buffer, type);
    }

    private Buffer added(ByteBuffer buffer, DType type) {
        if (size == most) {
            table = new View[SMALLEST_TABLE];
            size = 0;
        } else if (2 * (size + 1) > table.length) {
            grow();
        }
        View view = new View(buffer, type, Bulk.view(buffer, type));
        put(view);
        size++;
        return view.elements;
    }

    private void grow() {
        View[] before = table;
        table = new View[2 * before.length];
        for (View view : before) {
            if (view != null) {
                put(view);
            }
        }
    }

    private void put(View view) {
        int at = place(view.of, view.type, table.length);
        while (table[at] != null) {
            at = (at + 1) & (table.length - 1);
        }
        table[at] = view;
    }

    /** @param length a power of two */
    private static int place(ByteBuffer buffer, DType type, int length) {
        return (System.identityHashCode(buffer) + type.ordinal()) & (length - 1);
    }
}
