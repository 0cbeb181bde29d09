package io.hvd.optimizer.torch.graph;

import io.hvd.error.HvdException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What hooks have thrown in the middle of backward. JavaCPP carries only the text of a Java exception through native code, by
 * which the exception is found again here. A hook may run on a thread of LibTorch's own.
 */
public final class HookFailures {
    /** Bounds the map: each rank that is a thread of this JVM can have several backward passes that throw. */
    private static final int MOST = 64;

    /** The exceptions by their text, the earliest first. The hooks belong to the process, as LibTorch does. */
    private static final Map<String, HvdException> THROWN = new LinkedHashMap<>();

    private HookFailures() {}

    /** Called by a hook that is about to throw. */
    public static HvdException remembered(HvdException failure) {
        synchronized (THROWN) {
            THROWN.put(failure.toString(), failure);
            if (THROWN.size() > MOST) {
                THROWN.remove(THROWN.keySet().iterator().next());
            }
        }
        return failure;
    }

    /** What a hook threw, if that is what LibTorch speaks of. It stays, since hooks of several ranks may throw alike. */
    public static Optional<HvdException> behind(RuntimeException ofLibTorch) {
        String text = String.valueOf(ofLibTorch.getMessage());
        synchronized (THROWN) {
            return THROWN.entrySet().stream()
                    .filter(thrown -> text.contains(thrown.getKey()))
                    .map(Map.Entry::getValue)
                    .findFirst();
        }
    }
}
