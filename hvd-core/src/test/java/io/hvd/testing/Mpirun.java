package io.hvd.testing;

import java.util.ArrayList;
import java.util.List;

/** Plain mpirun, with nothing but what it needs to start more ranks than cores, as root or not. */
public final class Mpirun {
    private Mpirun() {}

    /** The command line of a Java program on the test class path; started by env, it keeps its flags and class path. */
    public static List<String> command(int ranks, Class<?> main, String... args) {
        List<String> command = command(ranks);
        command.add("env");
        command.addAll(Job.program(main, args));
        return command;
    }

    /** mpirun with its flags; what it starts is to be added. */
    public static List<String> command(int ranks) {
        List<String> command = new ArrayList<>(List.of("mpirun"));
        command.addAll(
                majorVersion() >= 5
                        ? List.of("--map-by", ":OVERSUBSCRIBE", "-x", "UCX_ERROR_SIGNALS=")
                        : List.of("--oversubscribe"));
        if (System.getProperty("user.name").equals("root")) {
            command.add("--allow-run-as-root");
        }
        command.addAll(List.of("-np", String.valueOf(ranks)));
        return command;
    }

    private static int majorVersion() {
        Job version = Job.run(List.of("mpirun", "--version"), java.util.Map.of());
        return Integer.parseInt(version.output().replaceFirst("(?s).*?(\\d+)\\.\\d+\\.\\d+.*", "$1"));
    }
}
