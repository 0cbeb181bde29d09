package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import org.bytedeco.javacpp.Pointer;

/** Brings on at a known moment what the garbage collector would do to LibTorch's objects at some time. */
final class Garbage {
    private static final long LIMIT_MILLIS = 30_000;

    private Garbage() {}

    /** Afterwards JavaCPP has given back the native memory of everything that nobody could reach. */
    static void collect() {
        // What the first collection finds has been handed to JavaCPP when the second one is seen to be over.
        awaitCollection();
        awaitCollection();
        Pointer.deallocateReferences();
    }

    private static void awaitCollection() {
        ReferenceQueue<Object> found = new ReferenceQueue<>();
        WeakReference<Object> garbage = new WeakReference<>(new Object(), found);
        System.gc();
        try {
            assertThat(found.remove(LIMIT_MILLIS)).as("garbage found").isNotNull();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        Reference.reachabilityFence(garbage);
    }
}
