package io.hvd.launch;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The running mpirun. The main thread starts it and waits; a shutdown hook may end it from another thread.
 *
 * <p>mpirun must be told to end only once: it leaves at once on a second signal, and its ranks
 * stay behind. In the foreground of a terminal it gets Ctrl-C from there, so the launcher waits
 * before it adds a signal of its own. Anywhere else mpirun is put into a session of its own (where
 * setsid is there), so that a signal to the whole group reaches the launcher alone. In the
 * foreground it has to stay in the group: it reads a terminal from nowhere else.
 */
final class MpiJob {

    /** mpirun itself gives its ranks one second between SIGTERM and SIGKILL. */
    private static final long GRACE_SECONDS = 10;

    /** After a Ctrl-C mpirun is gone within that second and the time to notice. */
    private static final long TERMINAL_GRACE_SECONDS = 3;

    private final ProcessBuilder builder;
    private Process mpirun;
    private boolean ending;

    MpiJob(List<String> line, Map<String, String> environment) {
        List<String> words = new ArrayList<>(line);
        if (!Terminal.isForeground()) {
            MpiInstall.onPath("setsid", environment).ifPresent(setsid -> words.add(0, setsid.toString()));
        }
        builder = new ProcessBuilder(words).inheritIO();
        builder.environment().clear();
        builder.environment().putAll(environment);
    }

    /** The exit code of mpirun. */
    int run() throws IOException, InterruptedException {
        synchronized (this) {
            if (ending) {
                throw new InterruptedException("ended before it began");
            }
            mpirun = builder.start();
        }
        return mpirun.waitFor();
    }

    /** Ends mpirun and its ranks: politely, then by force. Returns when they are gone; safe at any time. */
    synchronized void end() {
        ending = true;
        if (mpirun == null || !mpirun.isAlive()) {
            return;
        }
        List<ProcessHandle> family = mpirun.descendants().toList();
        boolean ended = Terminal.isForeground() && endsWithin(TERMINAL_GRACE_SECONDS);
        if (!ended) {
            mpirun.destroy();
            ended = endsWithin(GRACE_SECONDS);
        }
        if (!ended) {
            mpirun.destroyForcibly();
        }
        family.forEach(ProcessHandle::destroyForcibly);
    }

    synchronized boolean ending() {
        return ending;
    }

    private boolean endsWithin(long seconds) {
        try {
            return mpirun.waitFor(seconds, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
