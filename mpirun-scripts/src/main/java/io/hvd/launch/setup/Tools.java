package io.hvd.launch.setup;

import io.hvd.launch.mpi.MpiInstall;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Runs programs of this machine and shows what they print only if they fail.
 *
 * @param environment the programs' environment
 */
record Tools(Map<String, String> environment, PrintStream err) {

    record Result(int exitCode, String output) {}

    boolean has(String program) {
        return path(program).isPresent();
    }

    Optional<Path> path(String program) {
        return MpiInstall.onPath(program, environment);
    }

    void say(String text) {
        err.println("setup: " + text);
    }

    /** @throws SetupException with that sentence, if the program fails */
    void run(Path folder, List<String> words, String otherwise) throws IOException, InterruptedException {
        Result result = result(folder, words);
        if (result.exitCode() != 0) {
            err.print(result.output());
            throw new SetupException(otherwise);
        }
    }

    /** What a program prints on both of its streams; a question of its gets no answer. */
    Result result(Path folder, List<String> words) throws IOException, InterruptedException {
        var builder = new ProcessBuilder(found(words))
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectInput(Path.of("/dev/null").toFile());
        builder.environment().clear();
        builder.environment().putAll(environment);
        builder.environment().put("DEBIAN_FRONTEND", "noninteractive");
        builder.environment().put("LC_ALL", "C");
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Result(process.waitFor(), output);
    }

    /** Java itself would look on the PATH of this process. */
    private List<String> found(List<String> words) {
        List<String> found = new ArrayList<>(words);
        path(words.get(0)).ifPresent(program -> found.set(0, program.toString()));
        return found;
    }
}
