package io.hvd.launch.hosts;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Processes of ssh that ask hosts, a limited number at a time. Any thread may ask, and any may end them all. */
final class SshCalls {

    private static final int MOST_AT_ONCE = 128;

    private final Path ssh;
    private final SshAccess access;
    private final Duration limit;
    private final Set<Process> running = ConcurrentHashMap.newKeySet();
    private final Semaphore places = new Semaphore(MOST_AT_ONCE);
    private boolean ended;

    /** @param limit named in messages */
    SshCalls(Path ssh, SshAccess access, Duration limit) {
        this.ssh = ssh;
        this.access = access;
        this.limit = limit;
    }

    /** @param deadline by {@link System#nanoTime}, for the place in the queue and for the answer */
    HostAnswer ask(long deadline, String host) throws IOException, InterruptedException {
        if (!places.tryAcquire(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS)) {
            return HostAnswer.none("not asked within " + limit.toSeconds() + " s");
        }
        try {
            return askNow(deadline, host);
        } finally {
            places.release();
        }
    }

    /** The words that run a command on a host. */
    List<String> words(String host, String command) {
        return access.call(ssh.toString(), host, command);
    }

    /** Ends every ssh that runs, and lets none begin any more. */
    synchronized void end() {
        ended = true;
        running.forEach(Process::destroyForcibly);
    }

    private HostAnswer askNow(long deadline, String host) throws IOException, InterruptedException {
        Process process = start(host);
        try {
            // The words of ssh and ls fit into the pipe, so waiting first cannot block them.
            if (!process.waitFor(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS)) {
                return HostAnswer.none("no answer within " + limit.toSeconds() + " s; --start-timeout sets this limit");
            }
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            return HostAnswer.of(process.exitValue(), said);
        } finally {
            running.remove(process.destroyForcibly());
        }
    }

    private synchronized Process start(String host) throws IOException {
        if (ended) {
            throw new IOException("not asked, because horovodrun was ended");
        }
        Process process = new ProcessBuilder(words(host, HostAnswer.QUESTION))
                .redirectErrorStream(true)
                .redirectInput(Path.of("/dev/null").toFile())
                .start();
        running.add(process);
        return process;
    }
}
