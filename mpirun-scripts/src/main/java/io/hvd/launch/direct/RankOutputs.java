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

    void follow(RankProcess rank) {
        InputStream said = rank.process().getInputStream();
        int number = rank.rank().rank();
        copy(new RankStream(said, out, prefix(number, "stdout"), line -> {}), rank, said);
        copy(
                new RankStream(
                        rank.process().getErrorStream(), err, prefix(number, "stderr"), line -> keep(number, line)),
                rank,
                InputStream.nullInputStream());
    }

    private void copy(RankStream stream, RankProcess rank, InputStream head) {
        var copier = new Thread(
                () -> {
                    if (!rank.rank().here()) {
                        passStart(rank, head);
                    }
                    stream.run();
                },
                "hvd-launch-rank-" + rank.rank().rank());
        copier.setDaemon(true);
        copiers.add(copier);
        copier.start();
    }

    /** Another host's shell may say something of its own before the rank starts. */
    private void passStart(RankProcess rank, InputStream said) {
        var line = new StringBuilder();
        try {
            for (int c = said.read(); c >= 0; c = said.read()) {
                line.append((char) c);
                if (c == '\n') {
                    if (rank.hasStarted(line.toString())) {
                        return;
                    }
                    line.setLength(0);
                }
            }
        } catch (IOException e) {
            return; // it has ended
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
