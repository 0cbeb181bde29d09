package io.hvd.launch.process;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * What a job gets from whoever starts it.
 *
 * @param environment the variables of mpirun, and of the ranks on this machine
 * @param directory the folder in which the ranks start; empty for that of this process
 * @param reads whether rank 0 gets this process's standard input
 * @param takesResults whether ranks may hand in a result
 */
public record LaunchEnvironment(
        Map<String, String> environment, Optional<Path> directory, boolean reads, boolean takesResults) {

    /** The folder in which the ranks start, an absolute path. */
    public Path folder() {
        return directory.orElse(Path.of("")).toAbsolutePath();
    }

    /** The surroundings of a launcher that does nothing else. */
    public static LaunchEnvironment of(Map<String, String> environment) {
        return new LaunchEnvironment(environment, Optional.empty(), true, false);
    }
}
