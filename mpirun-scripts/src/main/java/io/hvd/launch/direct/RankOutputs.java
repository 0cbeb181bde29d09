package io.hvd.launch.direct;

import io.hvd.launch.failure.LastLines;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The output of all ranks on its way to the launcher's own, with a thread for each stream, and the last lines of it. */
final class RankOutputs {

    /** The form of mpirun's own prefixes. */
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("EEE MMM dd HH:mm:ss yyyy", Locale.ROOT);

    private final boolean prefixed;
    private final OutputStream out = new FileOutputStream(FileDescriptor.out);
    private final OutputStream err = new FileOutputStream(FileDescriptor.err);
    private final LastLines lastLines = new LastLines();
    private final List<Thread> copiers = new ArrayList<>();

    RankOutputs(boolean prefixed) {
        this.prefixed = prefixed;
    }

    /** A stream whose beginning is not the rank's own, and is passed over by the thread that reads it. */
    private interface Source {
        InputStream open() throws IOException;
    }

    /** Reads the output of a rank on this machine, which may still have to start. */
    void follow(PlannedRank rank, OutputPipes.Ends ends) {
        copy(rank.rank(), out, "stdout", ends::out);
        copy(rank.rank(), err, "stderr", ends::err);
    }

    /** Reads the output of a rank that has started. */
    void follow(RankProcess rank) {
        InputStream said = rank.process().getInputStream();
        copy(rank.rank().rank(), out, "stdout", () -> {
            passStart(rank, said);
            return said;
        });
        copy(rank.rank().rank(), err, "stderr", rank.process()::getErrorStream);
    }

    private void copy(int rank, OutputStream to, String stream, Source source) {
        Consumer<String> lines = to == err ? line -> keep(rank, line) : line -> {};
        var copier = new Thread(
                () -> {
                    try {
                        new RankStream(source.open(), to, prefix(rank, stream), lines).run();
                    } catch (IOException e) {
                        return; // it has ended
                    }
                },
                "hvd-launch-rank-" + rank);
        copier.setDaemon(true);
        copiers.add(copier);
        copier.start();
    }

    /** Another host's shell may say something of its own before the rank starts. */
    private static void passStart(RankProcess rank, InputStream said) throws IOException {
        var line = new StringBuilder();
        for (int c = rank.rank().here() ? -1 : said.read(); c >= 0; c = said.read()) {
            line.append((char) c);
            if (c == '\n') {
                if (rank.hasStarted(line.toString())) {
                    return;
                }
                line.setLength(0);
            }
        }
    }

    private Supplier<String> prefix(int rank, String stream) {
        return prefixed ? () -> TIME.format(ZonedDateTime.now()) + "[1," + rank + "]<" + stream + ">:" : () -> "";
    }

    private synchronized void keep(int rank, String line) {
        lastLines.add("[1," + rank + "]<stderr>:" + line.stripTrailing());
    }

    synchronized LastLines.Said last(int ofRank) {
        return lastLines.of(ofRank);
    }

    /** Waits for what is still on its way; a process that a rank has left behind may hold a stream open for longer. */
    void finish(long millis) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        for (Thread copier : copiers) {
            long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            copier.join(Math.max(1, left));
        }
    }
}
