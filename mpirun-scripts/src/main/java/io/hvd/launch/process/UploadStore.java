package io.hvd.launch.process;

import io.hvd.error.FailureRecord;
import io.hvd.net.FramedConnection;
import io.hvd.net.Upload;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The folder of a job, as far as ranks of other hosts put something into it: no more than a record or a result can have, and
 * under no other name.
 */
record UploadStore(Path folder, boolean takesResults) {

    private static final Pattern RESULT = Pattern.compile("result-\\d{1,9}");
    private static final Set<String> RECORDS = Set.of(FailureRecord.FAILURE, FailureRecord.STARTED);
    private static final int MOST_RECORD_BYTES = 1 << 18;
    private static final int MOST_RESULT_BYTES = 1 << 30;

    /** Clocks that are kept in step differ by less, and a busy host answers within it. */
    private static final int SLOW_WAY_MILLIS = 250;

    /** Reads the content from the rank and stores it; false if it is nothing that is taken. */
    boolean take(Upload upload, FramedConnection rank) throws IOException {
        Duration ahead = ahead(upload.sentMillis());
        if (RECORDS.contains(upload.name())) {
            return storeRecord(upload, ahead, rank);
        }
        return takesResults && RESULT.matcher(upload.name()).matches() && storeResult(upload, rank);
    }

    /**
     * The time by which this clock is ahead of the sender's, so that failures of all hosts are compared by one. On the way
     * time only passes: a message from the future has a wrong clock, one from the past perhaps a slow network.
     *
     * @param sentMillis the time by the sender's clock
     */
    private static Duration ahead(long sentMillis) {
        long millis = System.currentTimeMillis() - sentMillis;
        return millis < 0 || millis > SLOW_WAY_MILLIS ? Duration.ofMillis(millis) : Duration.ZERO;
    }

    private boolean storeRecord(Upload upload, Duration ahead, FramedConnection rank) throws IOException {
        var text = new ByteArrayOutputStream();
        copy(upload, MOST_RECORD_BYTES, rank, text);
        Optional<FailureRecord> record = FailureRecord.decode(text.toString(StandardCharsets.UTF_8));
        if (record.isPresent()) {
            record.get().by(ahead).write(folder, upload.name());
        }
        return record.isPresent();
    }

    private boolean storeResult(Upload upload, FramedConnection rank) throws IOException {
        Path unfinished = Files.createTempFile(folder, upload.name(), ".tmp");
        try {
            try (OutputStream out = Files.newOutputStream(unfinished)) {
                copy(upload, MOST_RESULT_BYTES, rank, out);
            }
            Files.move(unfinished, folder.resolve(upload.name()), StandardCopyOption.ATOMIC_MOVE);
            return true;
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }

    /** Copies the content as it comes: all workers together may be handed more than the launcher has memory. */
    private static void copy(Upload upload, int most, FramedConnection rank, OutputStream out) throws IOException {
        if (upload.bytes() < 0 || upload.bytes() > most) {
            throw new IOException("a content of " + upload.bytes() + " bytes, expected 0 to " + most);
        }
        int left = upload.bytes();
        while (left > 0) {
            ByteBuffer piece = rank.receive(Math.min(left, Upload.PIECE_BYTES));
            if (!piece.hasRemaining()) {
                throw new IOException("an empty piece, expected up to " + left + " bytes");
            }
            left -= piece.remaining();
            out.write(piece.array(), piece.arrayOffset() + piece.position(), piece.remaining());
        }
    }
}
