package io.hvd.trace;

import java.util.Set;

/** Finds the line of the user's program that led to a collective. */
public final class CallSite {
    /** The library's own packages; those of examples and tests are users. */
    private static final Set<String> OURS = Set.of(
            "io.hvd",
            "io.hvd.trace",
            "io.hvd.engine",
            "io.hvd.optimizer",
            "io.hvd.optimizer.torch",
            "io.hvd.train",
            "io.hvd.data");

    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    private CallSite() {}

    /** Such as {@code Train.step(Train.java:42)}. */
    public static String current() {
        return WALKER.walk(frames -> frames.filter(frame -> !isOurs(frame.getDeclaringClass()))
                .findFirst()
                .map(CallSite::describe)
                .orElse("a thread of hvd or of a native library"));
    }

    private static boolean isOurs(Class<?> type) {
        String name = type.getPackageName();
        return OURS.contains(name) || name.startsWith("java.") || name.startsWith("org.bytedeco.");
    }

    /** As a stack trace prints it, without the package. */
    private static String describe(StackWalker.StackFrame frame) {
        String type = frame.getClassName();
        return type.substring(type.lastIndexOf('.') + 1) + "." + frame.getMethodName() + "(" + frame.getFileName() + ":"
                + frame.getLineNumber() + ")";
    }
}
