package io.hvd.launch;

import java.lang.management.ManagementFactory;
import java.util.List;

/** Says with which JVM options and arguments it was started. */
public final class ArgvProgram {

    private ArgvProgram() {}

    public static void main(String[] args) {
        System.out.println("started with JVM options "
                + ManagementFactory.getRuntimeMXBean().getInputArguments() + " class path "
                + System.getProperty("java.class.path") + " library path " + System.getProperty("java.library.path")
                + " module path " + System.getProperty("jdk.module.path") + " arguments " + List.of(args));
    }
}
