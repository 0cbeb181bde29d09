package io.hvd.backend.shm;

import io.hvd.spi.Collectives;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * How ranks come to share a segment: the first of them makes the file, all map it, and it loses its name. What goes
 * wrong on one of them is told to all, and all try with a smaller one or do without. Communication thread.
 */
final class Founding {
    /** What a rank says of its part fits into so many bytes. */
    private static final int WORDS = 512;

    private static final byte DONE = 1;
    private static final byte FAILED = 2;

    private final Path folder;
    private final Collectives beneath;
    private final int rank;
    private final int ranks;

    /**
     * @param folder in memory, such as /dev/shm
     * @param beneath of the same ranks
     * @param rank this one's number among them
     */
    Founding(Path folder, Collectives beneath, int rank, int ranks) {
        this.folder = folder;
        this.beneath = beneath;
        this.rank = rank;
        this.ranks = ranks;
    }

    /** A segment, or why there is none; the same on all ranks. */
    record Result(Optional<Segment> segment, String note) {}

    /**
     * All ranks call it together.
     *
     * @param stageBytes wanted; less will do
     * @param leastBytes of a stage that is still worth it
     */
    Result found(int stageBytes, int leastBytes) {
        String note = "";
        for (int bytes = stageBytes; bytes >= leastBytes; bytes /= 2) {
            Attempt attempt = attempt(new Layout(ranks, bytes));
            if (attempt.failure().isEmpty()) {
                return new Result(Optional.of(attempt.segment()), note);
            }
            note = attempt.failure();
        }
        return new Result(Optional.empty(), note);
    }

    /** @param failure of any rank; empty if there was none */
    private record Attempt(Segment segment, String failure) {}

    private Attempt attempt(Layout layout) {
        Path[] file = new Path[1];
        try {
            List<String> made = tell(() -> {
                file[0] = rank == 0 ? SegmentFile.create(folder, layout.bytes()) : null;
                return rank == 0 ? file[0].toString() : "";
            });
            String failure = failure(made);
            if (!failure.isEmpty()) {
                return new Attempt(null, failure);
            }
            Segment[] segment = new Segment[1];
            List<String> mapped = tell(() -> {
                ByteBuffer memory = SegmentFile.map(Path.of(made.get(0)), layout.bytes());
                segment[0] = new Segment(layout, rank, memory);
                return "";
            });
            return new Attempt(segment[0], failure(mapped));
        } finally {
            delete(file[0]);
        }
    }

    private interface Part {
        String play() throws IOException;
    }

    /** What each rank says, by rank; words that begin with {@link #FAILED} are complaints. */
    private List<String> tell(Part mine) {
        byte[] words = new byte[WORDS];
        byte[] text;
        try {
            words[0] = DONE;
            text = mine.play().getBytes(StandardCharsets.UTF_8);
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            words[0] = FAILED;
            text = e.toString().getBytes(StandardCharsets.UTF_8);
        }
        System.arraycopy(text, 0, words, 1, Math.min(text.length, WORDS - 1));
        return exchanged(words);
    }

    private List<String> exchanged(byte[] words) {
        Tensor all = Tensor.ofBytes(new byte[WORDS * ranks]);
        long[] lengths = new long[ranks];
        Arrays.fill(lengths, WORDS);
        beneath.allgather(Tensor.ofBytes(words), all, lengths);
        byte[] bytes = (byte[]) all.toArray();
        List<String> told = new ArrayList<>();
        for (int i = 0; i < ranks; i++) {
            String text = new String(bytes, i * WORDS + 1, WORDS - 1, StandardCharsets.UTF_8).trim();
            told.add(bytes[i * WORDS] == FAILED ? (char) FAILED + text : text);
        }
        return told;
    }

    private static String failure(List<String> told) {
        List<String> failures = new ArrayList<>();
        for (int i = 0; i < told.size(); i++) {
            String words = told.get(i);
            if (!words.isEmpty() && words.charAt(0) == FAILED) {
                failures.add("rank " + i + " of the host: " + words.substring(1));
            }
        }
        return String.join("; ", failures);
    }

    /** Also of a segment in use. */
    private static void delete(Path file) {
        try {
            if (file != null) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException("a segment in shared memory could not be deleted: " + file, e);
        }
    }
}
