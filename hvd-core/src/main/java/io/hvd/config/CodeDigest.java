package io.hvd.config;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.ZipFile;

/**
 * A short number for the classes in a jar or a folder: the same for the same classes, wherever they lie.
 * Only the directory of a jar is read, which has the checksum of every entry.
 */
final class CodeDigest {
    private static final String OWN = "io/hvd/";
    private static final String CLASS = ".class";
    private static final int DIGITS = 16;

    private CodeDigest() {}

    static String of(Path jarOrFolder) throws IOException {
        SortedSet<String> lines = Files.isDirectory(jarOrFolder) ? inFolder(jarOrFolder) : inJar(jarOrFolder);
        String all = String.join("\n", lines);
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(all.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest).substring(0, DIGITS);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every JDK has it
        }
    }

    private static SortedSet<String> inJar(Path jar) throws IOException {
        SortedSet<String> lines = new TreeSet<>();
        try (ZipFile file = new ZipFile(jar.toFile())) {
            file.stream()
                    .filter(entry -> counts(entry.getName()))
                    .forEach(entry -> lines.add(line(entry.getName(), entry.getCrc(), entry.getSize())));
        }
        return lines;
    }

    private static SortedSet<String> inFolder(Path folder) throws IOException {
        SortedSet<String> lines = new TreeSet<>();
        for (Path file : filesBelow(folder)) {
            String name = folder.relativize(file).toString().replace('\\', '/');
            if (counts(name)) {
                byte[] bytes = Files.readAllBytes(file);
                CRC32 checksum = new CRC32();
                checksum.update(bytes);
                lines.add(line(name, checksum.getValue(), bytes.length));
            }
        }
        return lines;
    }

    private static List<Path> filesBelow(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(Files::isRegularFile).toList();
        }
    }

    private static boolean counts(String name) {
        return name.startsWith(OWN) && name.endsWith(CLASS);
    }

    private static String line(String name, long checksum, long size) {
        return name + " " + checksum + " " + size;
    }
}
