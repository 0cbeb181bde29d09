package io.hvd.launch.jvm;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.File;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * How a rank's JVM is given the classes of this process: by the class path, where the program's class comes from there or from
 * files that can be put there, and by Spring Boot's own launcher out of a jar with jars in it. Where it cannot be given them, as
 * in an application server, this is said before anything is started.
 *
 * @param properties those of this JVM
 * @param system the class loader of the class path
 */
public record CallerClasses(Properties properties, ClassLoader system) {

    private static final String SPRING = "org.springframework.boot.loader.";
    private static final String LAUNCHER = "PropertiesLauncher";
    private static final String REMEDY = "; start this program from a class path, or give the ranks one by"
            + " HvdLauncher.java(\"-cp\", path), with hvd-launch, hvd-core and SLF4J on it";

    public static CallerClasses ofThisJvm() {
        return new CallerClasses(System.getProperties(), ClassLoader.getSystemClassLoader());
    }

    /**
     * Words for java up to the main class.
     *
     * @param program a class that every rank must find
     * @param main the main class
     * @throws HvdException if ranks would not find it
     */
    public List<String> words(Class<?> program, Class<?> main) {
        if (properties.getProperty("org.graalvm.nativeimage.imagecode") != null) {
            throw refused("this program is a native image, and ranks are started by java from its class files"
                    + "; start the job by horovodrun, with the image as its command");
        }
        ClassLoader loader = program.getClassLoader();
        if (program.getModule().isNamed()) {
            throw refused(program.getName() + " is in the module "
                    + program.getModule().getName() + ", and ranks get a class path" + REMEDY);
        }
        if (loader != null && loader.getClass().getName().startsWith(SPRING)) {
            return springBoot(loader, program, main);
        }
        return List.of("-cp", classPath(program), main.getName());
    }

    /** The launcher in the jar that takes its main class from a property; it lies beside the one that has started this process. */
    private List<String> springBoot(ClassLoader loader, Class<?> program, Class<?> main) {
        String launcher = loader.getClass().getPackageName() + "." + LAUNCHER;
        boolean isWar = location(program).contains("WEB-INF");
        if (isWar || system.getResource(launcher.replace('.', '/') + ".class") == null) {
            throw refused(properties.getProperty("java.class.path")
                    + " is an archive with jars in it, which a JVM reads only through Spring Boot's own launcher"
                    + "; unpack it by java -Djarmode=tools -jar " + properties.getProperty("java.class.path")
                    + " extract, and start the jar that this makes");
        }
        return List.of(
                "-cp",
                absolute(properties.getProperty("java.class.path")),
                "-Dloader.main=" + main.getName(),
                launcher);
    }

    private String classPath(Class<?> program) {
        String own = absolute(properties.getProperty("java.class.path", ""));
        List<String> entries = new ArrayList<>();
        ClassLoader loader = program.getClassLoader();
        for (; loader != system && loader != null && loader != system.getParent(); loader = loader.getParent()) {
            if (!(loader instanceof URLClassLoader files) || !isInFile(program)) {
                throw refused(unreachable(program));
            }
            for (URL url : files.getURLs()) {
                entries.add(file(url)
                        .orElseThrow(() -> refused(unreachable(program)))
                        .toString());
            }
        }
        if (!own.isEmpty()) {
            entries.add(own);
        }
        if (entries.isEmpty()) {
            throw refused("this JVM has no class path from which ranks could take " + program.getName() + REMEDY);
        }
        return String.join(File.pathSeparator, entries);
    }

    /** Classes of JShell's are loaded by a loader with URLs too, and lie in memory. */
    private static boolean isInFile(Class<?> program) {
        URL file = program.getClassLoader().getResource(program.getName().replace('.', '/') + ".class");
        return file != null
                && (file.getProtocol().equals("file") || file.toString().startsWith("jar:file:"));
    }

    private static String unreachable(Class<?> program) {
        String kind = program.getClassLoader().getClass().getName();
        String from = kind.startsWith("com.sun.tools.javac.launcher.")
                ? "was compiled in memory, as java does with a source file on its command line; compile it with javac"
                : kind.startsWith("jdk.jshell.")
                        ? "was typed into JShell; compile it into a folder or jar of the class path"
                        : "was loaded by " + kind + (location(program).isEmpty() ? "" : " from " + location(program))
                                + ", and not from files that another JVM could be given";
        return program.getName() + " " + from + REMEDY;
    }

    private static Optional<Path> file(URL url) {
        try {
            return url.getProtocol().equals("file") ? Optional.of(Path.of(url.toURI())) : Optional.empty();
        } catch (URISyntaxException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static String location(Class<?> program) {
        var source = program.getProtectionDomain().getCodeSource();
        return source == null || source.getLocation() == null
                ? ""
                : source.getLocation().toString();
    }

    /** With absolute paths, which hold in any folder. */
    private static String absolute(String classPath) {
        return classPath.isEmpty()
                ? ""
                : Arrays.stream(classPath.split(File.pathSeparator))
                        .map(entry -> Path.of(entry).toAbsolutePath().toString())
                        .collect(Collectors.joining(File.pathSeparator));
    }

    /** The java of this process. */
    public String java() {
        Path java = Path.of(properties.getProperty("java.home", ""), "bin", "java");
        if (!Files.isExecutable(java)) {
            throw refused("this process's Java in " + properties.getProperty("java.home")
                    + " has no bin/java with which ranks could be started, as in an image that jpackage makes"
                    + "; start this program with a JDK or JRE of version 17 or newer");
        }
        return java.toString();
    }

    /** Whether words of the user's for java give the ranks a class path or modules of their own. */
    public static boolean areGiven(List<String> words) {
        return words.stream()
                .anyMatch(word -> Stream.of("-cp", "-classpath", "--class-path").anyMatch(word::equals)
                        || word.startsWith("--class-path="));
    }

    private static HvdException refused(String why) {
        return new HvdException(ErrorId.BAD_ARGUMENT, "no job was started: " + why);
    }
}
