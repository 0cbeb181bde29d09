package io.hvd.config;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.jar.Attributes;
import java.util.jar.JarFile;

/**
 * The programs around a job, as messages name them: a checkout has them as scripts, and hvd-launch's jar of everything as
 * subcommands.
 */
public enum HvdProgram {
    HOROVODRUN("horovodrun", "run"),
    DOCTOR("hvd-doctor", "doctor"),
    TOP("hvd-top", "top"),
    MONITOR("hvd-monitor", "monitor"),
    REPORT("hvd-report", "report"),
    SETUP("mpirun-scripts/setup.sh", "setup");

    /** The name that docs/how-to/library.md gives the jar. */
    private static final String JAR = "hvd-launch.jar";

    private static final String MAIN_CLASS = "io.hvd.command.HvdCommand";

    private final String script;
    private final String subcommand;

    HvdProgram(String script, String subcommand) {
        this.script = script;
        this.subcommand = subcommand;
    }

    /** The command line for a user who has started this process in the same way; for the programs themselves. */
    public String line() {
        return jar().map(this::line).orElse(script);
    }

    /** Both ways to start it, for processes that do not know which of them the user has. */
    public String eitherWay(String arguments) {
        String words = arguments.isEmpty() ? "" : " " + arguments;
        return (jar().isPresent() ? "" : script + words + " or ") + lineOfJar() + words;
    }

    public String eitherWay() {
        return eitherWay("");
    }

    /** The command line for a user of the jar. */
    public String lineOfJar() {
        return line(jar().orElse(Path.of(JAR)));
    }

    private String line(Path jar) {
        return "java -jar " + jar + " " + subcommand;
    }

    /** The jar of everything, where this process has its classes from it. */
    public static Optional<Path> jar() {
        try {
            Path file = Path.of(HvdProgram.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
            return Files.isRegularFile(file) && startsHere(file) ? Optional.of(file) : Optional.empty();
        } catch (URISyntaxException | IOException | RuntimeException e) {
            return Optional.empty(); // these classes come from no file
        }
    }

    /** A program that brings hvd in a jar of its own has another main class. */
    static boolean startsHere(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            return file.getManifest() != null
                    && MAIN_CLASS.equals(file.getManifest().getMainAttributes().getValue(Attributes.Name.MAIN_CLASS));
        }
    }
}
