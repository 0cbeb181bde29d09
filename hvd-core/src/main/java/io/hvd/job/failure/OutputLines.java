package io.hvd.job.failure;

import io.hvd.config.HvdConfig;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Standard output or standard error of a rank, in whole lines. Java writes {@code printf} to the system in pieces, between
 * which the launcher puts what other ranks print. Here a line is gathered until its end and goes out in one write. What
 * has no end of line, such as a progress bar, goes out when the program flushes the stream, after a short time, and when
 * the process ends; bytes that are no text do too, unchanged.
 *
 * <p>Any thread may write. Where ranks are threads, each has a line of its own; threads that belong to none of them
 * write through. What native code prints does not come by here.
 */
public final class OutputLines extends OutputStream {
    /** Far longer than the pieces of a line are apart, and too short for somebody who watches. */
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /** The bytes that the daemons of Open MPI 4.1 and 5.0 read in one go. */
    private static final int AT_ONCE = 4096;

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    /** A longer line is taken for no line. */
    private static final int LONGEST = 1 << 16;

    private static final Duration LAST_WORDS = Duration.ofMillis(200);

    private final PrintStream to;
    private final boolean prefixed;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition begun = lock.newCondition();
    /** The lines that have begun. */
    private final List<Line> open = new ArrayList<>();
    /** Null where threads outside all ranks write through. */
    private final Line ofProcess;

    private final ThreadLocal<Line> ofThread = new InheritableThreadLocal<>();
    private Thread watcher;
    /** Bytes that may not have been read yet. */
    private int unread;

    private long lastNanos = System.nanoTime();

    /** The output of a rank since its last end of line. */
    private static final class Line {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final byte[] prefix;
        private boolean atBegin = true;
        private long since;

        Line(int rank, boolean prefixed) {
            prefix = prefixed ? ("[" + rank + "] ").getBytes(StandardCharsets.US_ASCII) : new byte[0];
        }
    }

    private OutputLines(PrintStream to, boolean prefixed, int rankOfProcess) {
        this.to = to;
        this.prefixed = prefixed;
        this.ofProcess = rankOfProcess < 0 ? null : new Line(rankOfProcess, prefixed);
    }

    /** A stream in the place of System.out or System.err, by which its lines can be found again. */
    private static final class Lines extends PrintStream {
        private final OutputLines lines;

        Lines(OutputLines lines, Charset charset) {
            super(lines, false, charset);
            this.lines = lines;
        }

        /** Formats first and then writes in one piece, since formatting may take its time, above all the first time. */
        @Override
        public PrintStream format(String format, Object... arguments) {
            print(String.format(Locale.getDefault(Locale.Category.FORMAT), format, arguments));
            return this;
        }

        @Override
        public PrintStream format(Locale locale, String format, Object... arguments) {
            print(String.format(locale, format, arguments));
            return this;
        }
    }

    /** For the one rank that this process is; before it prints anything of its job. */
    public static void ofRank(HvdConfig config) {
        install(config.process().log().prefixRank(), config.started().rank().orElse(0));
    }

    /** For ranks that are threads, each of which calls {@link #bind}. */
    public static void ofThreads(HvdConfig config) {
        install(config.process().log().prefixRank(), -1);
    }

    private static void install(boolean prefixed, int rankOfProcess) {
        boolean first = !(System.out instanceof Lines) && !(System.err instanceof Lines);
        if (!(System.out instanceof Lines)) {
            System.setOut(over(System.out, prefixed, rankOfProcess));
        }
        if (!(System.err instanceof Lines)) {
            System.setErr(over(System.err, prefixed, rankOfProcess));
        }
        if (!first) {
            return;
        }
        Runtime.getRuntime().addShutdownHook(new Thread(OutputLines::lastWords, "hvd-output-end"));
    }

    /** @param rankOfProcess below 0 where ranks are threads */
    static PrintStream over(PrintStream to, boolean prefixed, int rankOfProcess) {
        return new Lines(new OutputLines(to, prefixed, rankOfProcess), charset(to));
    }

    /** From now on the output of the calling thread, and of those that it starts, belongs to a rank. */
    public static void bind(int rank) {
        for (PrintStream stream : new PrintStream[] {System.out, System.err}) {
            bind(stream, rank);
        }
    }

    static void bind(PrintStream stream, int rank) {
        if (stream instanceof Lines known && known.lines.ofProcess == null) {
            known.lines.ofThread.set(new Line(rank, known.lines.prefixed));
        }
    }

    /** Writes out the line that the calling thread, a rank's own, has begun; from now on it writes through. */
    public static void release() {
        for (PrintStream stream : new PrintStream[] {System.out, System.err}) {
            if (stream instanceof Lines known && known.lines.ofProcess == null) {
                stream.flush();
                known.lines.ofThread.remove();
            }
        }
    }

    /**
     * Hands on what is left before the process is ended by force. Whoever reads may have stopped to: this waits for a
     * moment only.
     */
    static void lastWords() {
        if (!(System.out instanceof Lines) && !(System.err instanceof Lines)) {
            return;
        }
        Thread writer = new Thread(
                () -> {
                    System.out.flush();
                    System.err.flush();
                },
                "hvd-output-last");
        writer.setDaemon(true);
        writer.start();
        try {
            writer.join(LAST_WORDS.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Java 18 tells the encoding of a stream; before that it is the default, or the terminal's. */
    private static Charset charset(PrintStream stream) {
        try {
            return (Charset) PrintStream.class.getMethod("charset").invoke(stream);
        } catch (ReflectiveOperationException e) {
            String terminal = System.getProperty("sun.stdout.encoding", "");
            return terminal.isEmpty() ? Charset.defaultCharset() : Charset.forName(terminal);
        }
    }

    @Override
    public void write(int b) {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] from, int offset, int length) {
        lock.lock();
        try {
            Line line = line();
            if (line == null) {
                to.write(from, offset, length);
                to.flush();
                return;
            }
            int whole = ends(from, offset, length);
            add(line, from, offset, whole);
            if (whole > 0) {
                emit(line);
            }
            add(line, from, offset + whole, length - whole);
            if (line.bytes.size() > LONGEST) {
                emit(line);
            }
            watch(line);
        } finally {
            lock.unlock();
        }
    }

    private Line line() {
        Line own = ofThread.get();
        return own == null ? ofProcess : own;
    }

    /** How many bytes there are up to the last end of a line. */
    private static int ends(byte[] from, int offset, int length) {
        for (int i = length; i > 0; i--) {
            if (from[offset + i - 1] == '\n') {
                return i;
            }
        }
        return 0;
    }

    private static void add(Line line, byte[] from, int offset, int length) {
        if (line.prefix.length == 0) {
            line.bytes.write(from, offset, length);
            return;
        }
        for (int i = offset; i < offset + length; i++) {
            if (line.atBegin) {
                line.bytes.writeBytes(line.prefix);
            }
            line.bytes.write(from[i]);
            line.atBegin = from[i] == '\n';
        }
    }

    private void emit(Line line) {
        byte[] bytes = line.bytes.toByteArray();
        line.bytes.reset();
        open.remove(line);
        if (ofProcess != null) {
            pause(bytes.length);
        }
        to.write(bytes, 0, bytes.length);
        to.flush();
    }

    /**
     * Lets the launcher read before more lies ready than it takes at once: otherwise it would hand on a part of a line,
     * and then what another rank prints. Costs time only where a rank prints megabytes a second.
     */
    private void pause(int length) {
        long now = System.nanoTime();
        if (now - lastNanos > PAUSE_NANOS) {
            unread = 0;
        } else if (unread > 0 && unread + length > AT_ONCE) {
            LockSupport.parkNanos(PAUSE_NANOS);
            unread = 0;
        }
        unread += length;
        lastNanos = System.nanoTime();
    }

    /** Has the rest of a line go out after a while. */
    private void watch(Line line) {
        if (line.bytes.size() == 0 || open.contains(line)) {
            return;
        }
        line.since = System.nanoTime();
        open.add(line);
        if (watcher == null) {
            watcher = new Thread(this::watch, "hvd-output");
            watcher.setDaemon(true);
            watcher.start();
        }
        begun.signal();
    }

    private void watch() {
        lock.lock();
        try {
            while (true) {
                if (open.isEmpty()) {
                    begun.await();
                    continue;
                }
                long left = PATIENCE_NANOS - (System.nanoTime() - open.get(0).since);
                if (left <= 0) {
                    emit(open.get(0));
                } else {
                    begun.awaitNanos(left);
                }
            }
        } catch (InterruptedException e) {
            watcher = null; // somebody interrupts all threads; the next line that begins has another watcher
        } finally {
            lock.unlock();
        }
    }

    /** A rank hands on its own line, any other thread all of them. */
    @Override
    public void flush() {
        lock.lock();
        try {
            Line own = line();
            for (Line line : List.copyOf(open)) {
                if (own == null || own == ofProcess || own == line) {
                    emit(line);
                }
            }
            to.flush();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        flush();
        to.close();
    }
}
