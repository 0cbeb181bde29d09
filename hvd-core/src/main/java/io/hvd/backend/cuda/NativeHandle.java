package io.hvd.backend.cuda;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import jcuda.NativePointerObject;

/**
 * JCuda's objects from plain numbers and back. JCuda has no way of its own to take a stream that another library made,
 * so this reaches for the field that holds an object's native pointer.
 */
final class NativeHandle {
    private static final String FIELD = "nativePointer";

    private final VarHandle pointer;

    /** Throws NoSuchFieldError if this JCuda keeps pointers elsewhere. */
    NativeHandle() {
        try {
            pointer = MethodHandles.privateLookupIn(NativePointerObject.class, MethodHandles.lookup())
                    .findVarHandle(NativePointerObject.class, FIELD, long.class);
        } catch (ReflectiveOperationException e) {
            NoSuchFieldError error = new NoSuchFieldError(FIELD + " of JCuda's NativePointerObject");
            error.initCause(e);
            throw error;
        }
    }

    /** The empty object, which now stands for what the number stands for. */
    <T extends NativePointerObject> T at(long number, T empty) {
        pointer.set(empty, number);
        return empty;
    }

    long number(NativePointerObject object) {
        return (long) pointer.get(object);
    }
}
