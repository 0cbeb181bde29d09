package io.hvd.trace;

import java.util.Arrays;
import java.util.Optional;
import java.util.Set;

/** Finds the line of the user's program in a stack: the one that led to a collective, or the one where a thread is. */
public final class CallSite {
    /** The library's own packages; those of examples and tests are users. */
    private static final Set<String> OURS = Set.of(
            "io.hvd",
            "io.hvd.backend.cuda",
            "io.hvd.backend.hybrid",
            "io.hvd.backend.local",
            "io.hvd.backend.mpi",
            "io.hvd.backend.mpi.bindings",
            "io.hvd.backend.nccl",
            "io.hvd.backend.shm",
            "io.hvd.config",
            "io.hvd.cost",
            "io.hvd.data",
            "io.hvd.data.cuda",
            "io.hvd.doctor",
            "io.hvd.engine",
            "io.hvd.error",
            "io.hvd.launch",
            "io.hvd.monitor",
            "io.hvd.optimizer",
            "io.hvd.optimizer.torch",
            "io.hvd.spi",
            "io.hvd.tensor",
            "io.hvd.timeline",
            "io.hvd.trace",
            "io.hvd.train");

    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    private CallSite() {}

    /** Such as {@code Train.step(Train.java:42)}. */
    public static String current() {
        return WALKER.walk(frames -> frames.filter(
                        frame -> isUsers(frame.getDeclaringClass().getPackageName()))
                .findFirst()
                .map(frame -> describe(frame.toStackTraceElement()))
                .orElse("a thread of hvd or of a native library"));
    }

    /** The user's line that a thread is in, innermost first; empty for threads that run no user's code. */
    public static Optional<String> of(StackTraceElement[] stack) {
        return Arrays.stream(stack)
                .filter(frame -> isUsers(packageOf(frame)))
                .findFirst()
                .map(CallSite::describe);
    }

    /** True if what the user's line has called is this library, and not the JDK or something native. */
    public static boolean isInsideHvd(StackTraceElement[] stack) {
        for (StackTraceElement frame : stack) {
            String name = packageOf(frame);
            if (isUsers(name) || OURS.contains(name)) {
                return !isUsers(name);
            }
        }
        return false;
    }

    /** As a stack trace prints it, without the package. */
    public static String describe(StackTraceElement frame) {
        String type = frame.getClassName();
        String line = frame.isNativeMethod() ? "native" : frame.getFileName() + ":" + frame.getLineNumber();
        return type.substring(type.lastIndexOf('.') + 1) + "." + frame.getMethodName() + "(" + line + ")";
    }

    private static boolean isUsers(String name) {
        return !OURS.contains(name)
                && !name.startsWith("java.")
                && !name.startsWith("jdk.")
                && !name.startsWith("sun.")
                && !name.startsWith("org.bytedeco.");
    }

    private static String packageOf(StackTraceElement frame) {
        int end = frame.getClassName().lastIndexOf('.');
        return end < 0 ? "" : frame.getClassName().substring(0, end);
    }
}
