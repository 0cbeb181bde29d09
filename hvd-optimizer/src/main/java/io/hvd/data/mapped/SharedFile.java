package io.hvd.data.mapped;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.Phase;
import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.RegularFile;
import io.hvd.file.WholeFile;
import io.hvd.log.HvdLogger;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.zip.CRC32C;

/** Builds a file of records by one rank of each host; all ranks of the job agree on whether they can go on. */
final class SharedFile {
    private static final HvdLogger LOG = HvdLogger.of(SharedFile.class);

    /** Building may take as long as decoding a whole data set does. */
    private static final Duration LONGEST_BUILD = Duration.ofHours(24);

    private static final int PIECE_BYTES = 1 << 20;

    private SharedFile() {}

    static MappedDataset open(HvdContext hvd, Path file, String version, RecordSource source) {
        hvd.requireSame(Map.of("version of the mapped data set", version));
        requireAll(hvd, file, hvd.localRank() == 0 ? built(hvd, file, version, source) : "");
        MappedDataset[] mapped = {null};
        requireAll(hvd, file, mistake(() -> mapped[0] = requireVersion(file, version)));
        return mapped[0];
    }

    private interface Work {
        void run() throws Exception;
    }

    /** This rank's failure in words, for the other ranks; empty if there is none. */
    private static String mistake(Work work) {
        try {
            work.run();
            return "";
        } catch (Exception e) {
            LOG.debug("no mapped data set", e);
            return words(e);
        }
    }

    private static String built(HvdContext hvd, Path file, String version, RecordSource source) {
        try (Phase phase = hvd.phase("building " + file, LONGEST_BUILD)) {
            return mistake(() -> {
                if (!isWhole(file, version)) {
                    build(file, version, source);
                }
            });
        }
    }

    /** Warns of a file that is there and of no use. */
    private static boolean isWhole(Path file, String version) {
        if (!Files.exists(file)) {
            return false;
        }
        try (FileChannel channel = FileChannel.open(RegularFile.at(file))) {
            RecordHeader header = RecordHeader.read(channel);
            if (!header.version().equals(version)) {
                LOG.info("{} is of version \"{}\" and is built anew as \"{}\"", file, header.version(), version);
                return false;
            }
            requireSum(channel, header);
            return true;
        } catch (IOException e) {
            LOG.warn("{} is built anew: {}", file, words(e));
            return false;
        }
    }

    private static void requireSum(FileChannel channel, RecordHeader header) throws IOException {
        CRC32C sum = new CRC32C();
        ByteBuffer piece = BufferLedger.PROCESS.direct(Owner.DATA, PIECE_BYTES);
        channel.position(RecordHeader.BYTES);
        while (channel.read(piece.clear()) >= 0) {
            sum.update(piece.flip());
        }
        if ((int) sum.getValue() != header.sum()) {
            throw new IOException(String.format(
                    Locale.ROOT,
                    "its records have the CRC-32C %08x, expected %08x as its header says",
                    sum.getValue(),
                    header.sum()));
        }
    }

    private static void build(Path file, String version, RecordSource source) throws IOException {
        WholeFile.write(file, channel -> {
            RecordWriter records = new RecordWriter(channel);
            try {
                source.writeTo(records);
            } catch (Exception e) {
                throw new IOException("its records could not be made: " + words(e), e);
            }
            records.finish(version);
        });
    }

    private static MappedDataset requireVersion(Path file, String version) throws IOException {
        MappedDataset mapped = MappedDataset.map(file, MappedDataset.SEGMENT_BYTES);
        if (!mapped.version().equals(version)) {
            throw new IOException("it is of version \"" + mapped.version() + "\", expected \"" + version
                    + "\": another job has replaced it meanwhile; give each version a file of its own");
        }
        return mapped;
    }

    /** Fails on all ranks if one has made a mistake. */
    private static void requireAll(HvdContext hvd, Path file, String mistake) {
        List<String> all = hvd.allgatherObject("mapped_dataset", mistake, ObjectCodec.utf8());
        List<String> found = new ArrayList<>();
        for (int rank = 0; rank < all.size(); rank++) {
            if (!all.get(rank).isEmpty()) {
                found.add("on rank " + rank + " (" + hvd.hosts().get(rank) + "): " + all.get(rank));
            }
        }
        if (!found.isEmpty()) {
            throw new HvdException(
                    ErrorId.BAD_DATA_SET, "mapped data set " + file + " cannot be used: " + String.join("; ", found));
        }
    }

    static String words(Exception e) {
        return e.getClass() == IOException.class
                ? e.getMessage()
                : e.getClass().getSimpleName() + ": " + e.getMessage();
    }
}
