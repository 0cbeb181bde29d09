package io.hvd.trace;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Finds the line of the user's program in a stack: the one that led to a collective, or the one where a thread is. */
public final class CallSite {
    private static final String LIBRARY = "io.hvd";
    /**
     * Packages of programs that use the library and live under its name: the examples, the benchmarks, and programs of
     * the tests.
     */
    private static final List<String> PROGRAMS =
            List.of("io.hvd.examples", "io.hvd.benchmarks", "io.hvd.contract", "io.hvd.faults");
    /** Packages on which the library and its users stand. */
    private static final List<String> FOUNDATIONS = List.of(
            "java",
            "javax",
            "jdk",
            "sun",
            "com.sun",
            "mpi",
            "jcuda",
            "org.bytedeco",
            "ai.djl",
            "kotlin",
            "kotlinx",
            "scala",
            "groovy",
            "org.codehaus.groovy",
            "org.apache.groovy",
            "clojure",
            "org.slf4j",
            "org.springframework.boot.loader");

    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    private CallSite() {}

    /** The current thread's line of the user's program, such as {@code Train.step(Train.java:42)}. */
    public static String current() {
        return WALKER.walk(frames -> frames.filter(
                        frame -> isUsers(frame.getDeclaringClass().getPackageName()))
                .findFirst()
                .map(frame -> describe(frame.toStackTraceElement()))
                .orElse("a thread of hvd or of a native library"));
    }

    /** The user's line that a thread is in, the innermost one; empty for threads that run no user's code. */
    public static Optional<String> of(StackTraceElement[] stack) {
        return Arrays.stream(stack)
                .filter(frame -> isUsers(packageOf(frame)))
                .findFirst()
                .map(CallSite::describe);
    }

    /** Whether a frame is of the program's own, or of a library that only the program knows. */
    public static boolean isUsers(StackTraceElement frame) {
        return isUsers(packageOf(frame));
    }

    /** True if the user's line has called this library, and not the JDK or a native method. */
    public static boolean isInsideHvd(StackTraceElement[] stack) {
        for (StackTraceElement frame : stack) {
            String name = packageOf(frame);
            if (isOurs(name) || isUsers(name)) {
                return isOurs(name);
            }
        }
        return false;
    }

    /** Whether a class belongs to the user's program. */
    public static boolean isUsersClass(String name) {
        return isUsers(packageOf(name));
    }

    /** A frame as a stack trace prints it, without the package. */
    public static String describe(StackTraceElement frame) {
        String type = frame.getClassName();
        String line = frame.isNativeMethod() ? "native" : frame.getFileName() + ":" + frame.getLineNumber();
        return type.substring(type.lastIndexOf('.') + 1) + "." + frame.getMethodName() + "(" + line + ")";
    }

    private static boolean isUsers(String name) {
        return !isOurs(name) && !isIn(FOUNDATIONS, name);
    }

    private static boolean isOurs(String name) {
        return isIn(LIBRARY, name) && !isIn(PROGRAMS, name);
    }

    private static boolean isIn(List<String> roots, String name) {
        for (String root : roots) { // no stream, because every call takes this path
            if (isIn(root, name)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isIn(String root, String name) {
        return name.startsWith(root) && (name.length() == root.length() || name.charAt(root.length()) == '.');
    }

    private static String packageOf(StackTraceElement frame) {
        return packageOf(frame.getClassName());
    }

    private static String packageOf(String className) {
        int end = className.lastIndexOf('.');
        return end < 0 ? "" : className.substring(0, end);
    }
}
