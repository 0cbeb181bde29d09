package io.hvd.cuda;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import jcuda.NativePointerObject;

/**
 * Converts JCuda's objects to plain numbers and back. JCuda cannot use a stream that another library made, so this
 * class writes the field that holds an object's native pointer.
 */
final class NativeHandle {
    private static final String FIELD = "nativePointer";

    private final VarHandle pointer;

    /** Throws NoSuchFieldError if this version of JCuda has no such field. */
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

    /** Makes an empty object stand for the native object of this number, and returns it. */
    <T extends NativePointerObject> T at(long number, T empty) {
        pointer.set(empty, number);
        return empty;
    }

    long number(NativePointerObject object) {
        return (long) pointer.get(object);
    }
}
