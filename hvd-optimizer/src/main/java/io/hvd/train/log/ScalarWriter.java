package io.hvd.train.log;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.train.JsonCodec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Writes curves of a training into a folder, as TensorBoard's event files, as JSON lines ({@code scalars.jsonl}) and as CSV
 * ({@code scalars.csv}). The first rank writes; on the others the same calls write nothing. A value is in the files when the call
 * returns, so they can be read while the training goes on, and after a process that was killed. One thread uses a writer.
 *
 * <p>A file that cannot be written any more is given up with one line in the log: the training goes on.
 */
public final class ScalarWriter implements AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(ScalarWriter.class);

    private final ProcessSet ranks;
    private final Path folder;
    private final Clock clock;
    /** Empty on all ranks but the first. */
    private final List<ScalarSink> sinks = new ArrayList<>();

    private final Map<Curve, Double> held = new LinkedHashMap<>();

    private ScalarWriter(ProcessSet ranks, Path folder, Clock clock) {
        this.ranks = ranks;
        this.folder = folder;
        this.clock = clock;
    }

    private record Curve(String tag, long step) {}

    /** A value of one rank on its way to the others; as a text, because JSON has no NaN. */
    private record Point(String tag, long step, String value) {}

    private record Mean(double sum, int ranks) {
        Mean plus(Mean other) {
            return new Mean(sum + other.sum, ranks + other.ranks);
        }
    }

    /**
     * Begins the files of a new training. A collective: every rank of the set calls it.
     *
     * @param folder made on the host of the first rank if it is not there
     * @throws HvdException on all ranks, if the folder holds the scalars of a training already, or cannot be written
     */
    public static ScalarWriter open(ProcessSet ranks, Path folder) {
        return FirstRank.of(ranks)
                .together(
                        "open the scalars of " + folder,
                        () -> {
                            requireFresh(folder);
                            ScalarWriter writer = begun(ranks, folder, Clock.systemUTC());
                            writer.cutAfter(0);
                            return writer;
                        },
                        () -> new ScalarWriter(ranks, folder, Clock.systemUTC()));
    }

    /**
     * Goes on with the files of a training, or begins them. A collective: every rank of the set calls it.
     *
     * @param stepsDone the steps that the checkpoint has behind it; what the files have of later steps is left out from now on. With 0
     *     the files of before are kept in a folder {@code earlier-1}, {@code earlier-2} ... beside the new ones
     * @throws HvdException on all ranks, if the files cannot be read or written
     */
    public static ScalarWriter resume(ProcessSet ranks, Path folder, long stepsDone) {
        return FirstRank.of(ranks)
                .together(
                        "go on with the scalars of " + folder,
                        () -> {
                            if (stepsDone == 0 && new EarlierRecord(folder).exists()) {
                                new EarlierRecord(folder).setAside();
                            }
                            ScalarWriter writer = begun(ranks, folder, Clock.systemUTC());
                            writer.cutAfter(stepsDone);
                            return writer;
                        },
                        () -> new ScalarWriter(ranks, folder, Clock.systemUTC()));
    }

    /** Goes on with all that the files have. A collective. */
    static ScalarWriter resumeWhole(ProcessSet ranks, Path folder) {
        return FirstRank.of(ranks)
                .together(
                        "go on with the scalars of " + folder,
                        () -> begun(ranks, folder, Clock.systemUTC()),
                        () -> new ScalarWriter(ranks, folder, Clock.systemUTC()));
    }

    /** Leaves out what the files have of later steps; on the first rank. */
    void cutAfter(long lastStep) throws IOException {
        for (ScalarSink sink : sinks) {
            sink.goOnAfter(lastStep, seconds());
        }
    }

    /** Keeps the files beside those that are begun now; on the first rank. @return where they are */
    Path beginAnew() throws IOException {
        close();
        Path aside = new EarlierRecord(folder).setAside();
        begin();
        return aside;
    }

    private static void requireFresh(Path folder) throws IOException {
        for (LineFormat format : LineFormat.values()) {
            Path file = folder.resolve(format.fileName());
            if (Files.exists(file)) {
                throw new IOException("it holds a training already (" + format.fileName()
                        + "): name another folder, or resume that training");
            }
        }
    }

    private static ScalarWriter begun(ProcessSet ranks, Path folder, Clock clock) throws IOException {
        ScalarWriter writer = new ScalarWriter(ranks, folder, clock);
        writer.begin();
        return writer;
    }

    private void begin() throws IOException {
        Files.createDirectories(folder);
        try {
            for (LineFormat format : LineFormat.values()) {
                sinks.add(LineFile.open(folder, format));
            }
            sinks.add(EventFile.begin(folder, seconds()));
        } catch (IOException e) {
            close();
            throw e;
        }
    }

    /**
     * Writes a value that is the same on all ranks, or that of the first rank; the others' is ignored.
     *
     * @param tag name of the curve; TensorBoard groups curves by what stands before the first slash
     * @param step number of batches that are done
     * @throws HvdException if the tag is empty, has nothing but blanks, or has a line feed
     */
    public void addScalar(String tag, double value, long step) {
        requireTag(tag);
        write(List.of(new Scalar(tag, value, step, seconds())));
    }

    /**
     * Holds a value of this rank back until {@link #writeMeans}, without a message to other ranks. A second value for the same
     * tag and step replaces the first.
     *
     * @throws HvdException if the tag is empty, has nothing but blanks, or has a line feed
     */
    public void addMean(String tag, double value, long step) {
        requireTag(tag);
        held.put(new Curve(tag, step), value);
    }

    /**
     * Writes the means over the ranks of what was held back, where a rank without a value of a step does not count. A collective:
     * every rank of the set calls it, usually at the end of an epoch.
     */
    public void writeMeans() {
        Point[] mine = held.entrySet().stream()
                .map(one -> new Point(
                        one.getKey().tag(), one.getKey().step(), one.getValue().toString()))
                .toArray(Point[]::new);
        held.clear();
        SortedMap<Curve, Mean> means =
                new TreeMap<>(Comparator.comparingLong(Curve::step).thenComparing(Curve::tag));
        for (Point[] ofRank : ranks.allgatherObject("scalars.means", mine, JsonCodec.of(Point[].class))) {
            for (Point point : ofRank) {
                Mean one = new Mean(Double.parseDouble(point.value), 1);
                means.merge(new Curve(point.tag, point.step), one, Mean::plus);
            }
        }
        double now = seconds();
        write(means.entrySet().stream()
                .map(one -> new Scalar(
                        one.getKey().tag(),
                        one.getValue().sum / one.getValue().ranks,
                        one.getKey().step(),
                        now))
                .toList());
    }

    private static void requireTag(String tag) {
        Objects.requireNonNull(tag, "tag");
        if (tag.chars().allMatch(one -> one == ' ')) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "the tag \"" + tag + "\" of a scalar is empty or has nothing but blanks");
        }
        if (tag.contains("\n")) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "the tag \"" + tag.replace("\n", "\\n") + "\" of a scalar has a line feed (U+000A), which ends the"
                            + " line that a scalar is in its file");
        }
    }

    private void write(List<Scalar> scalars) {
        if (!scalars.isEmpty()) {
            sinks.removeIf(sink -> !isWritten(sink, scalars));
        }
    }

    private boolean isWritten(ScalarSink sink, List<Scalar> scalars) {
        try {
            sink.add(scalars);
            return true;
        } catch (IOException e) {
            LOG.error(
                    "{}: no more scalars are written as {}: {}",
                    folder,
                    sink.getClass().getSimpleName(),
                    e.toString());
            return false;
        }
    }

    private double seconds() {
        return clock.millis() / 1e3;
    }

    /** Ends the files on the first rank; no collective. What {@link #addMean} holds back is lost. */
    @Override
    public void close() {
        for (ScalarSink sink : sinks) {
            try {
                sink.close();
            } catch (IOException e) {
                LOG.error("{}: the scalars could not be ended: {}", folder, e.toString());
            }
        }
        sinks.clear();
    }
}
