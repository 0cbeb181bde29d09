package io.hvd.launch.setup;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Looks for a JDK with a compiler: that of this process may be without one.
 *
 * @param own home of this process's Java
 * @param all folder in which the distribution keeps its JDKs
 */
record Jdk(Path own, Tools tools, Path all) {

    private static final int OLDEST = 17;
    private static final Pattern VERSION = Pattern.compile("(?m)^JAVA_VERSION=\"(\\d{1,6}).*\"$");

    static Jdk ofThisMachine(Tools tools) {
        return new Jdk(Path.of(System.getProperty("java.home")), tools, Path.of("/usr/lib/jvm"));
    }

    /** The first JDK that is new enough. */
    Optional<Path> home() {
        Stream<Path> named = Stream.of("JAVA_HOME")
                .map(tools.environment()::get)
                .filter(home -> home != null && !home.isEmpty())
                .map(Path::of);
        Stream<Path> onPath = tools.path("javac").flatMap(Jdk::homeOf).stream();
        return Stream.of(Stream.of(own), named, onPath, installed())
                .flatMap(homes -> homes)
                .filter(Jdk::compiles)
                .findFirst();
    }

    private static Optional<Path> homeOf(Path javac) {
        try {
            return Optional.of(javac.toRealPath().getParent().getParent());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private Stream<Path> installed() {
        String[] names = all.toFile().list();
        return Stream.of(names == null ? new String[0] : names).sorted().map(all::resolve);
    }

    private static boolean compiles(Path home) {
        return Files.isExecutable(home.resolve("bin/javac")) && version(home) >= OLDEST;
    }

    /** Read from a file, because a JVM that is started to be asked takes longer than all the rest. */
    private static int version(Path home) {
        try {
            Matcher matcher = VERSION.matcher(Files.readString(home.resolve("release")));
            return matcher.find() ? Integer.parseInt(matcher.group(1)) : 0;
        } catch (IOException e) {
            return 0;
        }
    }

    /** Compiles all sources at once. */
    void compile(List<Path> sources, Path classes) throws IOException, InterruptedException {
        Path home = home().orElseThrow(() -> new SetupException("there is no JDK 17 or newer; set JAVA_HOME to one"));
        List<String> words = Stream.concat(
                        Stream.of(
                                home.resolve("bin/javac").toString(),
                                "--release",
                                String.valueOf(OLDEST),
                                "-encoding",
                                "UTF-8",
                                "-nowarn",
                                "-d",
                                classes.toString()),
                        sources.stream().map(Path::toString))
                .toList();
        tools.run(classes, words, "Open MPI's Java sources could not be compiled; javac's own words stand above");
    }
}
