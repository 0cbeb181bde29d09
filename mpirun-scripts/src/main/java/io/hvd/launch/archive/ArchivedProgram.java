package io.hvd.launch.archive;

import io.hvd.file.FileFact;
import io.hvd.launch.jvm.InstalledJava;
import io.hvd.launch.jvm.JavaLine;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A Java program as far as a class-data archive of it depends on it: the JVM, its flags and the jars of the class path. An
 * archive has classes of jars only, so the class path counts up to its first folder.
 *
 * @param java the JVM's program, a real path
 * @param flags words of the user's that change what an archive must be like
 * @param jars absolute paths in the order of the class path
 */
public record ArchivedProgram(Path java, List<String> flags, List<String> jars) {

    /** Flags with which the JVM itself does without an archive, or makes archives of its own. */
    private static final Pattern UNFIT =
            Pattern.compile("-Xshare.*|-XX:.*(Archive|AOT|LoadedClassList|SharedClass|SharedSpaces).*"
                    + "|--(patch-module|upgrade-module-path|limit-modules).*|-Xbootclasspath.*|-XX:\\+Use(Z|Shenandoah|Epsilon)GC"
                    + "|-Xverify.*|-javaagent.*|-Djava\\.system\\.class\\.loader.*|--enable-native-access");

    private static final Pattern SHAPING = Pattern.compile(
            "-Xmx.*|-XX:MaxHeapSize.*|-XX:MaxRAM.*|-XX:[+-]Use(Compressed|Compact).*|-XX:ObjectAlignment.*"
                    + "|--enable-native-access=.*");
    private static final int OLDEST = 17;
    private static final int DIGITS = 24;

    /** The kind of program that has an archive, or else why it has none. */
    record Answer(Optional<ArchivedProgram> program, String why) {
        static Answer none(String why) {
            return new Answer(Optional.empty(), why);
        }
    }

    /** @param directory the folder in which the ranks start */
    static Answer of(JavaLine line, Map<String, String> environment, Path directory) {
        if (line.has(UNFIT.asMatchPredicate()) || line.readsArguments()) {
            return Answer.none("a flag of java's decides otherwise");
        }
        Optional<InstalledJava> java = InstalledJava.of(line.program(), environment, directory)
                .filter(found -> found.release() >= OLDEST && Files.isRegularFile(library(home(found.program()))));
        if (java.isEmpty()) {
            return Answer.none(line.program() + " is no HotSpot of version 17 or newer");
        }
        List<String> jars =
                line.classPath(environment).map(path -> jars(path, directory)).orElse(List.of());
        if (jars.isEmpty()) {
            return Answer.none("the class path does not begin with a jar");
        }
        List<String> shaping = Stream.concat(line.inherited().stream(), line.flags().stream())
                .filter(SHAPING.asMatchPredicate())
                .toList();
        return new Answer(Optional.of(new ArchivedProgram(java.get().program(), shaping, jars)), "");
    }

    private static Path home(Path java) {
        return java.resolve("../..").normalize();
    }

    private static Path library(Path home) {
        return home.resolve("lib/server/libjvm.so");
    }

    /** The jars before the first folder, as java expands the words; a jar that is not there does not count. */
    private static List<String> jars(String classPath, Path directory) {
        List<String> jars = new ArrayList<>();
        for (String word : classPath.split(File.pathSeparator)) {
            Path entry = directory.resolve(word).normalize();
            if (word.endsWith("*") || Files.isDirectory(entry)) {
                return jars; // java takes a folder's jars in the order in which the system lists them
            }
            if (Files.isRegularFile(entry)) {
                jars.add(entry.toString());
            }
        }
        return jars;
    }

    /** A short name that another JVM, other flags, or other jars do not have. */
    String name() {
        String all = java + "\n" + String.join("\n", flags) + "\n\n" + String.join("\n", jars);
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(all.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest).substring(0, DIGITS);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every JDK has it
        }
    }

    String classPath() {
        return String.join(File.pathSeparator, jars);
    }

    /**
     * A line for each file on which an archive depends, as it is now: the JVM, the jars, and what these name in their manifests,
     * whether it is there or not.
     */
    List<String> facts() throws IOException {
        Path home = home(java);
        Set<Path> files =
                new LinkedHashSet<>(List.of(library(home), home.resolve("lib/modules"), home.resolve("release")));
        Deque<Path> open = new ArrayDeque<>(jars.stream().map(Path::of).toList());
        while (!open.isEmpty()) {
            Path jar = open.remove();
            if (files.add(jar) && Files.isRegularFile(jar)) {
                open.addAll(named(jar));
            }
        }
        return files.stream().map(FileFact::of).toList();
    }

    private static List<Path> named(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile(), false)) {
            Manifest manifest = file.getManifest();
            String words =
                    manifest == null ? null : manifest.getMainAttributes().getValue(Attributes.Name.CLASS_PATH);
            return Stream.of(words == null ? new String[0] : words.split(" +"))
                    .filter(word -> !word.isEmpty() && !word.contains(":"))
                    .map(word -> jar.resolveSibling(word).normalize())
                    .toList();
        }
    }
}
