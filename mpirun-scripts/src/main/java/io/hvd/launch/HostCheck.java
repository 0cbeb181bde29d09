package io.hvd.launch;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Asks other hosts, all at the same time, whether ssh reaches them and which network interfaces they have. */
final class HostCheck {

    private static final int ATTEMPTS = 5;
    private static final int MOST_AT_ONCE = 128;
    private static final long FIRST_PAUSE_MILLIS = 100;

    private final Path ssh;
    private final SshAccess access;
    private final Duration limit;
    private final Set<Process> running = ConcurrentHashMap.newKeySet();
    private boolean ended;

    /** @param interfaces empty where ssh did not reach the host; then {@code said} has the reason */
    private record Answer(Optional<Set<String>> interfaces, String said) {}

    HostCheck(Path ssh, SshAccess access, Duration limit) {
        this.ssh = ssh;
        this.access = access;
        this.limit = limit;
    }

    /**
     * The network interfaces of each host.
     *
     * @throws UsageException with what ssh says of each host that it does not reach
     */
    Map<String, Set<String>> ask(Collection<String> hosts) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        var atExit = new Thread(this::end, "hvd-host-check-end");
        Runtime.getRuntime().addShutdownHook(atExit);
        ExecutorService pool = Executors.newFixedThreadPool(Math.min(MOST_AT_ONCE, Math.max(1, hosts.size())));
        try {
            Map<String, Future<Answer>> asked = new LinkedHashMap<>();
            hosts.forEach(host -> asked.put(host, pool.submit(() -> askUntil(deadline, host))));
            Map<String, Set<String>> reached = new TreeMap<>();
            Map<String, String> failed = new LinkedHashMap<>();
            for (var one : asked.entrySet()) {
                Answer answer = answer(one.getValue());
                answer.interfaces()
                        .ifPresentOrElse(
                                names -> reached.put(one.getKey(), names),
                                () -> failed.put(one.getKey(), answer.said()));
            }
            if (!failed.isEmpty()) {
                throw unreachable(failed, hosts.size());
            }
            return reached;
        } finally {
            pool.shutdownNow();
            forget(atExit);
        }
    }

    /** Ends every ssh that runs, and lets none begin any more. */
    synchronized void end() {
        ended = true;
        running.forEach(Process::destroyForcibly);
    }

    private static void forget(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            return; // the JVM is ending, and the hook at work
        }
    }

    private static Answer answer(Future<Answer> future) throws InterruptedException {
        try {
            return future.get(); // ends by itself, at the deadline
        } catch (ExecutionException e) {
            return new Answer(Optional.empty(), String.valueOf(e.getCause().getMessage()));
        }
    }

    private Answer askUntil(long deadline, String host) throws IOException, InterruptedException {
        Answer answer = ask(deadline, host);
        long pause = FIRST_PAUSE_MILLIS;
        for (int attempt = 2; attempt <= ATTEMPTS && answer.interfaces().isEmpty() && !past(deadline); attempt++) {
            TimeUnit.MILLISECONDS.sleep(pause);
            pause *= 2;
            answer = ask(deadline, host);
        }
        return answer;
    }

    private Answer ask(long deadline, String host) throws IOException, InterruptedException {
        Process process = start(host);
        try {
            // What ssh and ls have to say fits into the pipe, so waiting first cannot block them.
            if (!process.waitFor(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS)) {
                return new Answer(
                        Optional.empty(),
                        "no answer within " + limit.toSeconds() + " s; --start-timeout sets this limit");
            }
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            return process.exitValue() == SshAccess.NOT_REACHED
                    ? new Answer(Optional.empty(), said)
                    : new Answer(Optional.of(process.exitValue() == 0 ? names(said) : Set.of()), said);
        } finally {
            running.remove(process.destroyForcibly());
        }
    }

    private synchronized Process start(String host) throws IOException {
        if (ended) {
            throw new IOException("not asked, because horovodrun was ended");
        }
        Process process = new ProcessBuilder(words(host, "ls /sys/class/net"))
                .redirectErrorStream(true)
                .redirectInput(Path.of("/dev/null").toFile())
                .start();
        running.add(process);
        return process;
    }

    private static Set<String> names(String said) {
        return said.lines()
                .filter(line -> line.matches("[^\\s/:]{1,15}"))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static boolean past(long deadline) {
        return System.nanoTime() - deadline >= 0;
    }

    private List<String> words(String host, String command) {
        return access.call(ssh.toString(), host, command);
    }

    private UsageException unreachable(Map<String, String> failed, int asked) {
        var text = new StringBuilder("ssh reaches ")
                .append(asked - failed.size())
                .append(" of ")
                .append(asked)
                .append(" other hosts, nothing is started; it says of\n");
        failed.forEach((host, said) -> text.append("  ")
                .append(host)
                .append(": ")
                .append(said.isEmpty() ? "nothing" : said.replace("\n", "\n    "))
                .append('\n'));
        String first = failed.keySet().iterator().next();
        text.append("Each host must let this user in without a password. Try: ")
                .append(ShellWords.join(words(first, "true")));
        return new UsageException("hosts-unreachable", text.toString());
    }
}
