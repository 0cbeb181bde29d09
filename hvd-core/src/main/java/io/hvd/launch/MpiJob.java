package io.hvd.launch;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The running mpirun. The main thread starts it and waits; a shutdown hook may end it from another thread.
 *
 * <p>mpirun gets a session of its own where setsid is there: a Ctrl-C or a signal to the whole
 * group then reaches the launcher alone, which passes on exactly one. mpirun leaves at once on a
 * second signal, and its ranks stay behind.
 */
final class MpiJob {

    /** mpirun itself gives its ranks one second between SIGTERM and SIGKILL. */
    private static final long GRACE_SECONDS = 10;

    private final ProcessBuilder builder;
    private Process mpirun;
    private boolean ending;

    MpiJob(List<String> line, Map<String, String> environment) {
        List<String> words = new ArrayList<>(line);
        MpiInstall.onPath("setsid", environment).ifPresent(setsid -> words.add(0, setsid.toString()));
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
        mpirun.destroy();
        if (!ended()) {
            mpirun.destroyForcibly();
        }
        family.forEach(ProcessHandle::destroyForcibly);
    }

    synchronized boolean ending() {
        return ending;
    }

    private boolean ended() {
        try {
            return mpirun.waitFor(GRACE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
