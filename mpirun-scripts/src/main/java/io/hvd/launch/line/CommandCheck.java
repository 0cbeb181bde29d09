package io.hvd.launch.line;

import io.hvd.config.Suggestion;
import io.hvd.launch.jvm.JavaLine;
import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.words.UsageException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Looks up what the ranks are to start, as their launcher and java will do it, so that a mistyped name is one sentence before
 * the start and not a failure of every rank.
 *
 * @param directory the folder in which the ranks start, an absolute path
 */
public record CommandCheck(List<String> command, Map<String, String> environment, Path directory) {

    /** Arguments of mpirun's that change where it looks. */
    private static final Set<String> ELSEWHERE =
            Set.of("wdir", "wd", "path", "set-cwd-to-session-dir", "preload-binary", "prefix", "s");

    public static CommandCheck of(LaunchSettings settings, Map<String, String> environment, Path directory) {
        return new CommandCheck(isElsewhere(settings) ? List.of() : settings.command(), environment, directory);
    }

    /** Whether the user has mpirun look for the command in places of its own. */
    public static boolean isElsewhere(LaunchSettings settings) {
        return settings.words().more().stream()
                .anyMatch(word -> word.startsWith("PATH=") || ELSEWHERE.contains(word.replaceFirst("^--?", "")));
    }

    /** Why the command cannot be started on this machine; empty if nothing speaks against it. */
    public Optional<UsageException> obstacle() {
        return command.isEmpty() ? Optional.empty() : program(command.get(0)).or(this::jar);
    }

    private Optional<UsageException> program(String name) {
        Path file = directory.resolve(name);
        if (isProgram(file) || !name.contains("/") && isOnPath(name)) {
            return Optional.empty();
        }
        if (Files.isDirectory(file)) {
            return refusal("no-such-program", name + " is a folder, not a program");
        }
        return Files.exists(file) ? notExecutable(name) : missing(name);
    }

    private static boolean isProgram(Path file) {
        return Files.isRegularFile(file) && Files.isExecutable(file);
    }

    /** Whether PATH finds the program; true without a PATH, since each shell then has a default of its own. */
    private boolean isOnPath(String name) {
        return !environment.containsKey("PATH")
                || MpiInstall.onPath(name, environment).isPresent();
    }

    private static Optional<UsageException> notExecutable(String name) {
        return refusal(
                "not-executable",
                "the file " + name + " is not executable; "
                        + (name.endsWith(".jar")
                                ? "a jar is started by java -jar " + name
                                : "make it so by chmod +x " + name + ", or name the program that runs it, as in sh "
                                        + name));
    }

    private Optional<UsageException> missing(String name) {
        return name.contains("/")
                ? refusal("no-such-program", "there is no program " + directory.resolve(name) + near(name))
                : refusal(
                        "no-such-program",
                        "there is no program " + name + " on PATH"
                                + Suggestion.nearest(name, programs())
                                        .map(CommandCheck::meant)
                                        .orElse(""));
    }

    /** The jar that a java is to start. */
    private Optional<UsageException> jar() {
        return JavaLine.of(command, environment)
                .flatMap(JavaLine::jar)
                .filter(jar -> !Files.isRegularFile(directory.resolve(jar)))
                .flatMap(jar -> refusal(
                        "no-such-jar",
                        "java -jar " + jar + ": there is no file " + directory.resolve(jar) + near(jar)));
    }

    /** A file beside the one that is missing. */
    private String near(String name) {
        Path folder = directory.resolve(name).getParent();
        return Suggestion.nearest(Path.of(name).getFileName().toString(), names(folder))
                .map(found -> meant(Path.of(name).resolveSibling(found).toString()))
                .orElse("");
    }

    private static String meant(String name) {
        return "; did you mean " + name + "?";
    }

    private List<String> programs() {
        List<String> programs = new ArrayList<>();
        for (String folder : environment.get("PATH").split(":")) {
            programs.addAll(names(Path.of(folder)));
        }
        return programs;
    }

    private static List<String> names(Path folder) {
        String[] names = folder.toFile().list();
        return Stream.of(names == null ? new String[0] : names).sorted().toList();
    }

    private static Optional<UsageException> refusal(String id, String message) {
        return Optional.of(new UsageException(id, message));
    }
}
