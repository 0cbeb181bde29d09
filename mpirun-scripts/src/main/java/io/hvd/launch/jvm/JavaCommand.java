package io.hvd.launch.jvm;

import io.hvd.launch.mpi.MpiVersion;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * A command that starts Java, kept out of Open MPI's sight: its mpirun rewrites the arguments of a program whose file is
 * called {@code java}, and takes the word behind the first argument that contains "cp" for a class path, whatever it is.
 */
public final class JavaCommand {

    private JavaCommand() {}

    /** Whether this mpirun would change the command's arguments. */
    public static boolean isRewritten(MpiVersion version, List<String> command) {
        return !version.startsWithHydra() && Path.of(command.get(0)).endsWith("java");
    }

    /** Why {@link #untouched} has words before it, for the dry run. */
    public static String reason(List<String> command) {
        return "java is started by " + starter(command).get(0)
                + ", as mpirun rewrites a java's arguments: its class path, and what stands behind any word with cp in it";
    }

    /** The words that start the same program with the very arguments it has. */
    public static List<String> untouched(List<String> command) {
        return Stream.of(starter(command), command).flatMap(List::stream).toList();
    }

    /** A word with an equals sign is a variable for env. */
    private static List<String> starter(List<String> command) {
        return command.get(0).contains("=") ? List.of("sh", "-c", "exec \"$@\"", "sh") : List.of("env");
    }
}
