package io.hvd.train.checkpoint;

import io.hvd.file.WholeFile;
import io.hvd.log.HvdLogger;
import io.hvd.train.safetensors.SetIndex;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The folder in which all ranks write their files of a checkpoint, {@code .step-0000001200.OWNER.NUMBER}: the owner is the first rank's
 * process, the number is drawn anew for each. When all files are there, each of them whole and forced to the disk, the first rank writes their
 * index and renames the folder. So a checkpoint is there with all of its files or not at all, and no rank ever writes where another
 * process has written.
 *
 * @param path the folder
 * @param ranks that write a file each
 */
record UnfinishedSet(Path path, int ranks) {
    private static final HvdLogger LOG = HvdLogger.of(UnfinishedSet.class);
    private static final Pattern NAME = Pattern.compile("\\.step-[0-9]{10,18}\\.([0-9a-z-]+)\\.[0-9a-f]+");
    private static final String FAILED = ".failed";
    private static final long POLL_MILLIS = 20;
    /** How long the files may stay as they are until the first rank takes the others for lost. */
    private static final long STILL_MINUTES = 5;
    /** The same where all of them are begun: a slow disk takes long to force a file that has its size already. */
    private static final long FORCED_MINUTES = 30;

    static UnfinishedSet of(Path series, long step, String owner, String number, int ranks) {
        return new UnfinishedSet(series.resolve("." + CheckpointFolder.name(step) + "." + owner + "." + number), ranks);
    }

    /** A name for a checkpoint that is about to be deleted, by which the next save deletes it if this process does not come to it. */
    static Path aside(Path whole) {
        String step = CheckpointFolder.name(
                CheckpointFolder.stepOf(whole.getFileName().toString()));
        return whole.resolveSibling("." + step + "." + WholeFile.owner() + "." + drawNumber());
    }

    static String drawNumber() {
        return Long.toHexString(ThreadLocalRandom.current().nextLong());
    }

    /** The file of a rank of the process set. */
    Path file(int rank) {
        return path.resolve(SetIndex.fileName(rank + 1, ranks));
    }

    /** Tells the first rank that a file will never be there. */
    void failed(int rank, String why) {
        try {
            WholeFile.write(mark(rank), why.getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            LOG.debug("the first rank hears of the failure at the next save: {}", e.toString());
        }
    }

    private Path mark(int rank) {
        return path.resolve(file(rank).getFileName() + FAILED);
    }

    /**
     * Waits for the files of all ranks.
     *
     * @param isAbandoned whether a rank is known to have failed
     * @throws IOException if one cannot come any more
     */
    void await(BooleanSupplier isAbandoned) throws IOException {
        String before = "";
        long since = System.nanoTime();
        while (true) {
            List<Integer> missing = IntStream.range(0, ranks)
                    .filter(rank -> !Files.exists(file(rank)))
                    .boxed()
                    .toList();
            if (missing.isEmpty()) {
                return;
            }
            requireComing(missing, isAbandoned);
            String now = sizes().toString();
            if (!now.equals(before)) {
                before = now;
                since = System.nanoTime();
            } else if (System.nanoTime() - since > TimeUnit.MINUTES.toNanos(stillMinutes(missing))) {
                throw new IOException("the files of the ranks " + missing + " did not grow for " + stillMinutes(missing)
                        + " minutes. All ranks write into this folder, so it must be on a file system of all hosts");
            }
            pause();
        }
    }

    /** Minutes for which the files of these ranks may stay as they are. */
    long stillMinutes(List<Integer> missing) throws IOException {
        Set<String> there = sizes().keySet();
        boolean begun = missing.stream()
                .map(rank -> "." + file(rank).getFileName() + ".")
                .allMatch(temporary -> there.stream().anyMatch(name -> name.startsWith(temporary)));
        return begun ? FORCED_MINUTES : STILL_MINUTES;
    }

    private void requireComing(List<Integer> missing, BooleanSupplier isAbandoned) throws IOException {
        for (int rank : missing) {
            if (Files.exists(mark(rank))) {
                throw new IOException("rank " + rank + " could not write its file: " + Files.readString(mark(rank)));
            }
        }
        if (isAbandoned.getAsBoolean()) {
            throw new IOException("the ranks " + missing + " have not written their files");
        }
    }

    private static void pause() throws IOException {
        try {
            Thread.sleep(POLL_MILLIS);
        } catch (InterruptedException e) {
            throw new IOException("the wait for the other ranks' files was interrupted", e);
        }
    }

    private SortedMap<String, Long> sizes() throws IOException {
        SortedMap<String, Long> sizes = new TreeMap<>();
        try (Stream<Path> files = Files.list(path)) {
            for (Path file : files.toList()) {
                sizes.put(file.getFileName().toString(), size(file));
            }
        }
        return sizes;
    }

    /** Bytes of a file; -1 if it has got its name meanwhile. */
    private static long size(Path file) throws IOException {
        try {
            return Files.size(file);
        } catch (NoSuchFileException e) {
            return -1;
        }
    }

    /** Makes it a checkpoint, in place of one of the same step if there is one, which stays set aside. */
    void commit(CheckpointFolder series, long step) throws IOException {
        List<String> names = IntStream.range(0, ranks)
                .mapToObj(rank -> file(rank).getFileName().toString())
                .toList();
        WholeFile.write(path.resolve(SetIndex.NAME), SetIndex.of(path, names).encode());
        series.setAside(step);
        try {
            Files.move(path, series.set(step), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            series.restore(step);
            throw e;
        }
        WholeFile.forceNames(series.folder().toAbsolutePath());
    }

    /** Deletes what killed processes have left, and this one's earlier failures. */
    static void deleteLeftovers(Path series) throws IOException {
        String owner = WholeFile.owner();
        Set<String> others = new TreeSet<>();
        try (Stream<Path> all = Files.list(series)) {
            for (Path path : all.toList()) {
                Matcher name = NAME.matcher(path.getFileName().toString());
                if (name.matches() && (name.group(1).equals(owner) || WholeFile.isGone(name.group(1)))) {
                    CheckpointFolder.deleteFiles(path);
                } else if (name.matches()) {
                    others.add(path.getFileName().toString());
                }
            }
        }
        if (!others.isEmpty()) {
            LOG.warn(
                    "{} in {} are left alone: processes of other hosts, or such as are still running, have not finished"
                            + " them. Delete them if these are gone",
                    others,
                    series);
        }
    }
}
