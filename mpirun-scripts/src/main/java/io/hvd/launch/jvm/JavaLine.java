package io.hvd.launch.jvm;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * A command that starts Java, taken apart as java itself does it: java, its flags, and the program with its arguments.
 *
 * @param program the word that names java
 * @param flags words of java's, up to the main class, the jar or the module
 * @param rest {@code -jar} and a jar, {@code -m} and a module, or a main class, and then the program's own words
 * @param inherited flags that java takes from the environment
 */
public record JavaLine(String program, List<String> flags, List<String> rest, List<String> inherited) {

    /** Flags of java with a value in a word of its own. */
    private static final Set<String> WITH_VALUE = Set.of(
            "-cp",
            "-classpath",
            "--class-path",
            "-p",
            "--module-path",
            "--upgrade-module-path",
            "--add-modules",
            "--limit-modules",
            "--add-reads",
            "--add-exports",
            "--add-opens",
            "--patch-module",
            "--enable-native-access",
            "--source");

    private static final Set<String> CLASS_PATH = Set.of("-cp", "-classpath", "--class-path");
    private static final String LONG_CLASS_PATH = "--class-path=";
    private static final Set<String> BEFORE_PROGRAM = Set.of("-jar", "-m", "--module");
    public static final List<String> VARIABLES = List.of("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS");

    /** Empty for a command that is no java. */
    public static Optional<JavaLine> of(List<String> command, Map<String, String> environment) {
        if (command.isEmpty() || !Path.of(command.get(0)).endsWith("java")) {
            return Optional.empty();
        }
        int end = 1;
        while (end < command.size() && command.get(end).startsWith("-") && !startsProgram(command.get(end))) {
            end += WITH_VALUE.contains(command.get(end)) ? 2 : 1;
        }
        int program = Math.min(end, command.size());
        return Optional.of(new JavaLine(
                command.get(0),
                List.copyOf(command.subList(1, program)),
                List.copyOf(command.subList(program, command.size())),
                inherited(environment)));
    }

    private static boolean startsProgram(String word) {
        return BEFORE_PROGRAM.contains(word) || word.startsWith("--module=");
    }

    private static List<String> inherited(Map<String, String> environment) {
        return VARIABLES.stream()
                .flatMap(name -> Stream.of(environment.getOrDefault(name, "").split("\\s+")))
                .filter(word -> !word.isEmpty())
                .toList();
    }

    /** The command with more flags, before those of the user: of two for one thing the later one wins. */
    public List<String> with(List<String> ours) {
        return Stream.of(List.of(program), ours, flags, rest)
                .flatMap(List::stream)
                .toList();
    }

    /** Whether the user has given a flag, here or in the environment. */
    public boolean has(Predicate<String> flag) {
        return Stream.concat(flags.stream(), inherited.stream()).anyMatch(flag);
    }

    /** Whether words of the user's stand in a file of arguments, where they are not seen from here. */
    public boolean readsArguments() {
        return Stream.of(flags, rest.stream().limit(1).toList(), inherited)
                .flatMap(List::stream)
                .anyMatch(word -> word.startsWith("@"));
    }

    /** The jar of {@code java -jar}. */
    public Optional<String> jar() {
        return rest.size() > 1 && rest.get(0).equals("-jar") ? Optional.of(rest.get(1)) : Optional.empty();
    }

    /** Where java takes classes from; empty for a program that is a module, or if there is no such word. */
    public Optional<String> classPath(Map<String, String> environment) {
        if (rest.isEmpty() || rest.get(0).startsWith("-") && jar().isEmpty()) {
            return Optional.empty();
        }
        return jar().or(this::classPathFlag).or(() -> Optional.ofNullable(environment.get("CLASSPATH")));
    }

    private Optional<String> classPathFlag() {
        List<String> values = new ArrayList<>();
        for (int i = 0; i < flags.size(); i++) {
            String word = flags.get(i);
            if (word.startsWith(LONG_CLASS_PATH)) {
                values.add(word.substring(LONG_CLASS_PATH.length()));
            } else if (CLASS_PATH.contains(word) && i + 1 < flags.size()) {
                values.add(flags.get(i + 1));
            }
            i += WITH_VALUE.contains(word) ? 1 : 0;
        }
        return values.stream().reduce((first, later) -> later);
    }

    /**
     * The program's first argument if it is a plain word, such as the name of an example, which decides what classes are
     * loaded; else empty.
     */
    public String subcommand() {
        return rest.stream()
                .skip(jar().isPresent() ? 2 : 1)
                .findFirst()
                .filter(word -> word.matches("[a-z][a-z0-9-]{0,40}"))
                .orElse("");
    }
}
