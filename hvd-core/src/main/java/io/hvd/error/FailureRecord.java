package io.hvd.error;

import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A record that a rank writes when it fails, so that the launcher can show the first cause last.
 *
 * <p>A rank writes it into the directory named by {@link #DIRECTORY_VARIABLE}, which the launcher
 * makes and deletes; the launcher reads all of them once mpirun has ended. On disk it is one
 * UTF-8 properties file, closed by a line {@code end=true}: without it the file counts as cut off.
 *
 * @param time when the failure was noticed on this rank
 * @param rank global rank, or -1 where the failure came before the rank was known
 * @param thread name of the thread that failed
 * @param reason one sentence
 * @param stack stack trace, or empty
 * @param consequence true if this rank only failed because another one had
 * @param exitCode the exit code of this rank's process, {@link #UNKNOWN} where it could not be known in time, or
 *     {@link #EARLY}
 */
public record FailureRecord(
        Instant time,
        int rank,
        String host,
        long pid,
        String thread,
        String reason,
        String stack,
        boolean consequence,
        int exitCode) {

    /** The exit code is not known: the program called System.exit, or another process ends this one. */
    public static final int UNKNOWN = -1;

    /** The program has ended before it has left its job, which is a failure even if its exit code is 0. */
    public static final int EARLY = 0;

    /** Environment variable by which the launcher tells its ranks where to write; unset without a launcher. */
    public static final String DIRECTORY_VARIABLE = "HVD_FAILURE_DIR";

    /** Longer text is cut off, so that no record is larger than a few screens. */
    private static final int LONGEST_REASON = 4_000;

    private static final int LONGEST_STACK = 16_000;

    /** The kind of record that tells of a failure. */
    public static final String FAILURE = "failure";

    /** The kind of record by which a rank that has not failed tells the launcher whose its process is. */
    public static final String STARTED = "started";

    private static final Pattern NAME = Pattern.compile("rank-(-?\\d{1,9})-pid-.*\\.failure");

    private static final Comparator<FailureRecord> CAUSES_FIRST =
            Comparator.comparing(FailureRecord::consequence).thenComparing(FailureRecord::time);

    public FailureRecord {
        Objects.requireNonNull(time, "time");
        Objects.requireNonNull(host, "host");
        Objects.requireNonNull(thread, "thread");
        Objects.requireNonNull(reason, "reason");
        Objects.requireNonNull(stack, "stack");
        reason = reason.substring(0, Math.min(LONGEST_REASON, reason.length()));
        stack = stack.substring(0, Math.min(LONGEST_STACK, stack.length()));
    }

    /** This failure by a clock that is ahead of its rank's by so much. */
    public FailureRecord by(Duration ahead) {
        return new FailureRecord(time.plus(ahead), rank, host, pid, thread, reason, stack, consequence, exitCode);
    }

    /**
     * Writes this record of a failure atomically: a reader sees all of it or nothing. A rank may write several;
     * none replaces another.
     *
     * @param directory the folder for it, which must exist
     * @return the file written; its name holds rank and pid
     */
    public Path write(Path directory) throws IOException {
        return write(directory, FAILURE);
    }

    /** The same. @param kind {@link #FAILURE} or {@link #STARTED} */
    public Path write(Path directory, String kind) throws IOException {
        Path unfinished = Files.createTempFile(directory, "rank-" + rank + "-pid-" + pid + "-", ".tmp");
        try {
            Files.writeString(unfinished, encode());
            String name = unfinished.getFileName().toString();
            Path finished = directory.resolve(name.substring(0, name.length() - "tmp".length()) + kind);
            return Files.move(unfinished, finished, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            Files.deleteIfExists(unfinished);
            throw e;
        }
    }

    /**
     * Reads every complete record: causes before consequences, each by time. Half-written and
     * foreign files are passed over, and a directory that is not there holds no records.
     */
    public static List<FailureRecord> readAll(Path directory) throws IOException {
        return read(directory, FAILURE);
    }

    /** Reads every complete record of a rank that has told whose its process is. */
    public static List<FailureRecord> readStarted(Path directory) throws IOException {
        return read(directory, STARTED);
    }

    private static List<FailureRecord> read(Path directory, String kind) throws IOException {
        List<FailureRecord> records = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*." + kind)) {
            for (Path file : files) {
                read(file).ifPresent(records::add);
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            return List.of();
        }
        records.sort(CAUSES_FIRST);
        return List.copyOf(records);
    }

    /** Whether a rank has told whose its process is, according to the names of the files. */
    public static boolean hasStarted(Path directory) {
        return Stream.of(names(directory)).anyMatch(name -> name.endsWith("." + STARTED));
    }

    private static String[] names(Path directory) {
        String[] names = directory.toFile().list();
        return names == null ? new String[0] : names;
    }

    /** The ranks that have left a complete record, according to the names of the files. */
    public static Set<Integer> ranksIn(Path directory) {
        Set<Integer> ranks = new TreeSet<>();
        for (String name : names(directory)) {
            Matcher matcher = NAME.matcher(name);
            if (matcher.matches()) {
                ranks.add(Integer.parseInt(matcher.group(1)));
            }
        }
        return ranks;
    }

    /** The bytes of the record, as they stand in a file or are sent to the launcher's host. */
    public String encode() {
        var fields = new Properties();
        fields.setProperty("time", time.toString());
        fields.setProperty("rank", Integer.toString(rank));
        fields.setProperty("host", host);
        fields.setProperty("pid", Long.toString(pid));
        fields.setProperty("thread", thread);
        fields.setProperty("reason", reason);
        fields.setProperty("stack", stack);
        fields.setProperty("consequence", Boolean.toString(consequence));
        fields.setProperty("exitCode", Integer.toString(exitCode));
        var out = new StringWriter();
        try {
            fields.store(out, null);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // a StringWriter never throws
        }
        return out + "end=true\n";
    }

    /** Empty if the text is not one that {@link #encode} gives, or is cut off. */
    public static Optional<FailureRecord> decode(String text) {
        return read(new StringReader(text));
    }

    private static Optional<FailureRecord> read(Path file) {
        if (!Files.isRegularFile(file)) {
            return Optional.empty(); // a named pipe would be waited for
        }
        try (var in = Files.newBufferedReader(file)) {
            return read(in);
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static Optional<FailureRecord> read(Reader in) {
        var fields = new Properties();
        try {
            fields.load(in);
            return "true".equals(fields.getProperty("end")) ? Optional.of(of(fields)) : Optional.empty();
        } catch (IOException | IllegalArgumentException | DateTimeException e) {
            return Optional.empty(); // the file is no record of hvd's, or is incomplete
        }
    }

    private static FailureRecord of(Properties fields) {
        return new FailureRecord(
                Instant.parse(required(fields, "time")),
                Integer.parseInt(required(fields, "rank")),
                required(fields, "host"),
                Long.parseLong(required(fields, "pid")),
                required(fields, "thread"),
                required(fields, "reason"),
                required(fields, "stack"),
                Boolean.parseBoolean(required(fields, "consequence")),
                Integer.parseInt(required(fields, "exitCode")));
    }

    private static String required(Properties fields, String name) {
        String value = fields.getProperty(name);
        if (value == null) {
            throw new IllegalArgumentException("no field " + name);
        }
        return value;
    }
}
