package io.hvd.host.shm;

import io.hvd.host.memory.Layout;
import io.hvd.host.memory.MemoryGroup;
import io.hvd.host.memory.Segment;
import io.hvd.spi.Abandonment;
import io.hvd.spi.Topology;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Sets up the segment that the ranks of a host share: the first of them makes the file, all of them map it, and its
 * name is deleted. From then on each rank holds a lock, by which the others see that it lives. A rank that fails tells
 * the ranks of all hosts, and all of them try a smaller segment or do without one. Used on the communication thread.
 */
final class SegmentSetup {
    /** The most bytes of a rank's message about its part. */
    private static final int WORDS = 512;

    private static final byte DONE = 1;
    private static final byte FAILED = 2;

    private final Path folder;
    private final Function<byte[], List<byte[]>> exchange;
    private final List<Integer> members;
    private final List<Integer> inside;
    private final int rank;
    private final String host;
    private final Abandonment abandonment;

    /**
     * @param folder a folder in memory, such as /dev/shm
     * @param exchange gives every member as many bytes of each
     * @param members all ranks that set up segments together
     * @param inside the members of this host
     * @param topology tells this rank's number and host
     * @param abandonment ends waits for other ranks
     */
    SegmentSetup(
            Path folder,
            Function<byte[], List<byte[]>> exchange,
            List<Integer> members,
            List<Integer> inside,
            Topology topology,
            Abandonment abandonment) {
        this.folder = folder;
        this.exchange = exchange;
        this.members = members;
        this.inside = inside;
        this.rank = topology.rank();
        this.host = topology.host();
        this.abandonment = abandonment;
    }

    /** This rank's view of a segment. */
    record Share(Segment segment, MemoryGroup group) {}

    /**
     * This rank's share of a segment, if there is one, and why a larger segment or any at all failed (empty if the first
     * attempt succeeded). Whether there is a segment, and the note, are the same on all ranks.
     */
    record Result(Optional<Share> share, String note) {}

    /**
     * Sets up a segment; all ranks call it together.
     *
     * @param wantedBytes size of a stage, the same on all ranks; it may become smaller
     * @param leastBytes the smallest size of a stage that is worth it
     */
    Result found(int wantedBytes, int leastBytes) {
        String note = "";
        for (int bytes = wantedBytes; bytes >= leastBytes; bytes /= 2) {
            Attempt attempt = attempt(new Layout(inside.size(), bytes));
            if (attempt.failure().isEmpty()) {
                return new Result(Optional.of(attempt.share()), note);
            }
            note = attempt.failure();
        }
        return new Result(Optional.empty(), note);
    }

    /** @param failure the failure of any rank; empty if there was none */
    private record Attempt(Share share, String failure) {}

    private Attempt attempt(Layout layout) {
        Path[] file = new Path[1];
        try {
            List<String> made = tell(() -> {
                file[0] = inside.get(0) == rank ? SegmentFile.create(folder, layout.bytes()) : null;
                return file[0] == null ? "" : file[0].toString();
            });
            String failure = failure(made);
            if (!failure.isEmpty()) {
                return new Attempt(null, failure);
            }
            Share[] share = new Share[1];
            List<String> mapped = tell(() -> {
                share[0] = take(Path.of(made.get(members.indexOf(inside.get(0)))), layout);
                return "";
            });
            failure = failure(mapped);
            if (!failure.isEmpty() && share[0] != null) {
                share[0].group().close();
            }
            return new Attempt(share[0], failure);
        } finally {
            delete(file[0]);
        }
    }

    private Share take(Path file, Layout layout) throws IOException {
        int place = inside.indexOf(rank);
        FileChannel open = SegmentFile.open(file, layout.bytes());
        try {
            Segment segment = new Segment(layout, place, SegmentFile.map(open));
            return new Share(segment, new LockedGroup(inside, host, LifeLocks.hold(open, place), abandonment));
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            open.close();
            throw e;
        }
    }

    private interface Part {
        String play() throws IOException;
    }

    /** The ranks' messages, by rank; those that begin with {@link #FAILED} are complaints. */
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
        List<byte[]> all = exchange.apply(words);
        List<String> told = new ArrayList<>();
        for (int i = 0; i < members.size(); i++) {
            String text = new String(all.get(i), 1, WORDS - 1, StandardCharsets.UTF_8).trim();
            told.add(all.get(i)[0] == FAILED ? (char) FAILED + text : text);
        }
        return told;
    }

    private String failure(List<String> told) {
        List<String> failures = new ArrayList<>();
        for (int i = 0; i < told.size(); i++) {
            String words = told.get(i);
            if (!words.isEmpty() && words.charAt(0) == FAILED) {
                failures.add("rank " + members.get(i) + ": " + words.substring(1));
            }
        }
        return String.join("; ", failures);
    }

    /** Deletes the file's name, also that of a segment in use. */
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
