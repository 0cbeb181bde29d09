package io.hvd.optimizer.torch.natives;

import io.hvd.file.FileFact;
import io.hvd.file.WholeFile;
import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * Native libraries in a folder of JavaCPP's cache, which has the name of their jar. JavaCPP takes a library there for the one in
 * the jar if size and time are the same, so it would go on with the libraries of another jar of that name, whose build was
 * reproducible. Here they are compared by the checksums in the jar's directory, once for each jar: a small file beside them says
 * of which jar they are. {@link PreparationNote} depends on that file as on the others.
 *
 * @param jar the jar
 * @param entries the folder in the jar, which ends with a slash
 * @param folder the folder in the cache
 */
record UnpackedNatives(Path jar, String entries, Path folder) {
    static final String NOTE = ".hvd.unpacked-from";
    private static final int PIECE = 1 << 16;

    /**
     * @param resource the folder in the jar, as class loaders name it
     * @return empty if it is in no jar, and so is not unpacked
     */
    static List<UnpackedNatives> of(URL resource, Path folder) throws IOException {
        if (!(resource.openConnection() instanceof JarURLConnection connection)
                || !connection.getJarFileURL().getProtocol().equals("file")) {
            return List.of();
        }
        try {
            Path jar = Path.of(connection.getJarFileURL().toURI());
            String name = connection.getEntryName();
            return List.of(new UnpackedNatives(jar, name.endsWith("/") ? name : name + "/", folder));
        } catch (URISyntaxException e) {
            throw new IOException(resource + " is no place that can be read", e);
        }
    }

    /** Deletes the libraries that the jar has otherwise; JavaCPP unpacks them when it is asked again. */
    boolean deleteForeign() throws IOException {
        Path note = folder.resolve(NOTE);
        String now = FileFact.content(jar);
        if (Files.isRegularFile(note) && Files.readString(note).equals(now)) {
            return false;
        }
        boolean foreign = false;
        try (ZipFile file = new ZipFile(jar.toFile())) {
            for (ZipEntry entry : (Iterable<ZipEntry>) file.stream().map(ZipEntry.class::cast)::iterator) {
                foreign |= isForeign(entry);
            }
        }
        if (!foreign) {
            WholeFile.write(note, now.getBytes(StandardCharsets.UTF_8));
        }
        return foreign;
    }

    private boolean isForeign(ZipEntry entry) throws IOException {
        if (entry.isDirectory() || !entry.getName().startsWith(entries)) {
            return false;
        }
        Path file = folder.resolve(entry.getName().substring(entries.length())).normalize();
        if (!file.startsWith(folder)
                || !Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                || Files.size(file) == entry.getSize() && checksum(file) == entry.getCrc()) {
            return false;
        }
        Files.delete(file);
        return true;
    }

    private static long checksum(Path file) throws IOException {
        var checksum = new CRC32();
        try (InputStream in = Files.newInputStream(file)) {
            byte[] piece = new byte[PIECE];
            for (int read = in.read(piece); read >= 0; read = in.read(piece)) {
                checksum.update(piece, 0, read);
            }
        }
        return checksum.getValue();
    }
}
