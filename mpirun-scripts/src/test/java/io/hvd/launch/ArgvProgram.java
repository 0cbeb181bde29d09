package io.hvd.launch;

import java.lang.management.ManagementFactory;
import java.util.List;

/** Says with which JVM options and arguments it was started. */
public final class ArgvProgram {

    /** The property with the folders of native code. */
    private static final String NATIVE = String.join(".", "java", "library", "path");

    private ArgvProgram() {}

    public static void main(String[] args) {
        System.out.println("started with JVM options "
                + ManagementFactory.getRuntimeMXBean().getInputArguments() + " class path "
                + System.getProperty("java.class.path") + " library path " + System.getProperty(NATIVE)
                + " module path " + System.getProperty("jdk.module.path") + " arguments " + List.of(args));
    }
}
