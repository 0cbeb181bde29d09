package io.hvd.monitor.status;

import io.hvd.log.HvdLogger;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import java.util.zip.CRC32;

/**
 * A page in shared memory on which a rank tells hvd-top what it is doing. The file has no name: hvd-top finds it among the
 * open files of the process, in /proc, so that only the same user and root can read it, and nothing is left of it when the
 * process ends in whatever way.
 *
 * <p>The page is one line with a check sum and a length in bytes, and then an object of JSON:
 *
 * <pre>
 * hvd-status 1 0a1b2c3d 345
 * {"job":"node7:4711","rank":2,...}
 * </pre>
 *
 * A reader that comes in the middle of a writing finds another sum, and reads again. Only the monitor's thread writes.
 */
public final class StatusPage implements AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(StatusPage.class);
    /** The names of forgotten segments are deleted, so that a page is too if its process is killed before it is. */
    private static final String PREFIX = "hvd-status-";

    private static final String SUFFIX = ".shm";
    private static final List<Path> FOLDERS =
            List.of(Path.of("/dev/shm"), Path.of(System.getProperty("java.io.tmpdir")));

    private final FileChannel file;

    private StatusPage(FileChannel file) {
        this.file = file;
    }

    /** Makes a page in the first folder that takes it; none if there is no such folder. */
    public static Optional<StatusPage> create() {
        return FOLDERS.stream()
                .filter(Files::isDirectory)
                .flatMap(StatusPage::in)
                .findFirst();
    }

    /** Makes a page that this user alone may read. */
    static Stream<StatusPage> in(Path folder) {
        try {
            var onlyMine = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
            Path name = Files.createTempFile(folder, PREFIX, SUFFIX, onlyMine);
            try {
                return Stream.of(
                        new StatusPage(FileChannel.open(name, StandardOpenOption.READ, StandardOpenOption.WRITE)));
            } finally {
                Files.delete(name);
            }
        } catch (IOException | UnsupportedOperationException e) {
            LOG.debug("hvd-top cannot show this rank: {} takes no page: {}", folder, e.toString());
            return Stream.empty();
        }
    }

    /** Replaces what stands on the page. */
    public void write(String json) {
        try {
            ByteBuffer page = ByteBuffer.wrap(page(json));
            for (int at = 0; page.hasRemaining(); ) {
                at += file.write(page, at);
            }
        } catch (IOException e) {
            LOG.debug("hvd-top cannot show this rank any more: {}", e.toString());
        }
    }

    static byte[] page(String json) {
        byte[] content = json.getBytes(StandardCharsets.UTF_8);
        CRC32 sum = new CRC32();
        sum.update(content);
        String head = "hvd-status 1 " + eightDigits(sum.getValue()) + " " + content.length + System.lineSeparator();
        return (head + json).getBytes(StandardCharsets.UTF_8);
    }

    /** In base 16. Each rank does it when it joins, where a first {@code String.format} takes 10 ms. */
    private static String eightDigits(long value) {
        return Long.toHexString(value | 1L << 32).substring(1);
    }

    @Override
    public void close() {
        try {
            file.close();
        } catch (IOException e) {
            LOG.debug("the page for hvd-top could not be closed: {}", e.toString());
        }
    }
}
