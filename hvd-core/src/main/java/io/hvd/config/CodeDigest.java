package io.hvd.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Enumeration;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * A short number for the classes in a jar or a folder: the same for the same classes, wherever they lie and in whatever order.
 * Only the directory of a jar is read, which has the checksum of every entry. Every rank does this at its start, when its code
 * is not compiled yet, so the number is a sum of mixed checksums: it tells builds apart, and protects from nobody.
 */
final class CodeDigest {
    private static final String OWN = "io/hvd/";
    private static final String CLASS = ".class";

    private CodeDigest() {}

    static String of(Path jarOrFolder) throws IOException {
        long sum = Files.isDirectory(jarOrFolder) ? ofFolder(jarOrFolder) : ofJar(jarOrFolder);
        return HexFormat.of().toHexDigits(sum);
    }

    private static long ofJar(Path jar) throws IOException {
        long sum = 0;
        try (ZipFile file = new ZipFile(jar.toFile())) {
            for (Enumeration<? extends ZipEntry> entries = file.entries(); entries.hasMoreElements(); ) {
                ZipEntry entry = entries.nextElement();
                if (counts(entry.getName())) {
                    sum += mixed(entry.getName(), entry.getCrc(), entry.getSize());
                }
            }
        }
        return sum;
    }

    private static long ofFolder(Path folder) throws IOException {
        long sum = 0;
        for (Path file : filesBelow(folder)) {
            String name = folder.relativize(file).toString().replace('\\', '/');
            if (counts(name)) {
                byte[] bytes = Files.readAllBytes(file);
                CRC32 checksum = new CRC32();
                checksum.update(bytes);
                sum += mixed(name, checksum.getValue(), bytes.length);
            }
        }
        return sum;
    }

    private static List<Path> filesBelow(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(Files::isRegularFile).toList();
        }
    }

    private static boolean counts(String name) {
        return name.startsWith(OWN) && name.endsWith(CLASS);
    }

    /** The mixing function of SplitMix64, twice, so that neither names nor contents can change places. */
    private static long mixed(String name, long checksum, long size) {
        return mixed(mixed((long) name.hashCode() << 32 ^ checksum) + size);
    }

    private static long mixed(long value) {
        long mixed = (value ^ value >>> 30) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
        return mixed ^ mixed >>> 31;
    }
}
