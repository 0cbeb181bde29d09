package io.hvd.launch.hosts;

import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Asks other hosts, all at the same time, whether ssh reaches them and which network interfaces they have. A host that
 * is not reached is asked again until the limit, since its name or its sshd may come later, as those of a pod do;
 * unless ssh says what time does not mend, such as a key that the host does not accept.
 */
final class HostCheck {

    /** How often a host that refuses is asked: the service that knows its users may be late once. */
    private static final int ATTEMPTS_AT_A_REFUSAL = 5;

    private static final int MOST_SHOWN = 3;
    private static final long FIRST_PAUSE_MILLIS = 100;
    private static final long LONGEST_PAUSE_MILLIS = 2_000;
    private static final Duration UNTIL_TOLD = Duration.ofSeconds(5);

    private final SshCalls calls;
    private final Duration limit;
    private final PrintStream progress;
    private final Duration untilTold;
    /** Hosts that are not reached yet, and ssh's last words about each. */
    private final Map<String, String> waiting = new ConcurrentSkipListMap<>();
    /** The name that each host that was reached has for itself. */
    private final Map<String, String> hostnames = new ConcurrentSkipListMap<>();
    /** Whether one host that refuses makes it useless to ask the others again. */
    private boolean needsAll;
    /** Whether one of them has. */
    private volatile boolean refused;

    /** @param progress gets a line from time to time while a host is waited for */
    HostCheck(Path ssh, SshAccess access, Duration limit, PrintStream progress) {
        this(ssh, access, limit, progress, UNTIL_TOLD);
    }

    /** @param untilTold from line to line */
    HostCheck(Path ssh, SshAccess access, Duration limit, PrintStream progress, Duration untilTold) {
        this.calls = new SshCalls(ssh, access, limit);
        this.limit = limit;
        this.progress = progress;
        this.untilTold = untilTold;
    }

    /**
     * The network interfaces of each host.
     *
     * @throws UsageException with what ssh says of each host that it does not reach
     */
    Map<String, Set<String>> ask(Collection<String> hosts) throws InterruptedException {
        needsAll = true;
        Answers answers = look(hosts);
        if (!answers.failed().isEmpty()) {
            throw UnreachableHosts.refusal(answers.failed(), hosts.size(), calls);
        }
        return answers.reached();
    }

    /**
     * What came of asking.
     *
     * @param reached hosts and their network interfaces
     * @param failed the other hosts, and ssh's words about each
     */
    record Answers(Map<String, Set<String>> reached, Map<String, String> failed) {}

    /** Asks each host until the limit. */
    Answers look(Collection<String> hosts) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        var atExit = new Thread(this::end, "hvd-host-check-end");
        Runtime.getRuntime().addShutdownHook(atExit);
        ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, hosts.size()));
        try {
            Map<String, Future<HostAnswer>> asked = new LinkedHashMap<>();
            hosts.forEach(host -> asked.put(host, pool.submit(() -> askUntil(deadline, host))));
            Map<String, Set<String>> reached = new TreeMap<>();
            Map<String, String> failed = new LinkedHashMap<>();
            for (var one : asked.entrySet()) {
                HostAnswer answer = answer(one.getValue());
                answer.interfaces()
                        .ifPresentOrElse(
                                names -> reached.put(one.getKey(), names),
                                () -> failed.put(one.getKey(), answer.said()));
            }
            return new Answers(reached, failed);
        } finally {
            pool.shutdownNow();
            forget(atExit);
        }
    }

    /** The names that the hosts have for themselves; one that says nothing is missing. */
    Map<String, String> hostnames() {
        return Map.copyOf(hostnames);
    }

    /** Ends every ssh that runs, and lets none begin any more. */
    void end() {
        calls.end();
    }

    private static void forget(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            return; // the JVM is ending, and the hook at work
        }
    }

    private HostAnswer answer(Future<HostAnswer> future) throws InterruptedException {
        try {
            while (true) {
                try {
                    return future.get(untilTold.toMillis(), TimeUnit.MILLISECONDS); // ends by itself, at the deadline
                } catch (TimeoutException e) {
                    tellWhoIsWaitedFor();
                }
            }
        } catch (ExecutionException e) {
            return HostAnswer.none(String.valueOf(e.getCause().getMessage()));
        }
    }

    private void tellWhoIsWaitedFor() {
        List<String> shown = waiting.entrySet().stream()
                .limit(MOST_SHOWN)
                .map(one -> one.getKey() + (one.getValue().isEmpty() ? "" : " (" + firstLine(one.getValue()) + ")"))
                .toList();
        int more = waiting.size() - shown.size();
        if (!shown.isEmpty()) {
            progress.println("horovodrun: waiting for " + String.join(", ", shown)
                    + (more > 0 ? " and " + more + " more hosts" : "") + ", for " + limit.toSeconds()
                    + " s at most; --start-timeout sets this limit");
        }
    }

    private static String firstLine(String said) {
        return said.lines().findFirst().orElse("");
    }

    private HostAnswer askUntil(long deadline, String host) throws IOException, InterruptedException {
        waiting.put(host, "");
        HostAnswer answer = ask(deadline, host);
        String reason = answer.said();
        long pause = FIRST_PAUSE_MILLIS;
        int attempts = 1;
        while (answer.interfaces().isEmpty() && !past(deadline) && !isUseless(answer, attempts)) {
            waiting.put(host, answer.said());
            TimeUnit.MILLISECONDS.sleep(Math.min(pause, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
            pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS);
            answer = ask(deadline, host);
            attempts++;
            // A question that the limit cuts short says nothing of the host.
            reason = past(deadline) && !reason.isEmpty() ? reason : answer.said();
        }
        waiting.remove(host);
        return answer.interfaces().isPresent() || refused || attempts == 1
                ? answer
                : HostAnswer.none(reason + withinTheLimit(attempts));
    }

    private HostAnswer ask(long deadline, String host) throws IOException, InterruptedException {
        HostAnswer answer = calls.ask(deadline, host);
        answer.hostname().ifPresent(name -> hostnames.put(host, name));
        return answer;
    }

    private String withinTheLimit(int attempts) {
        return "\nasked " + attempts + " times within " + limit.toSeconds() + " s; --start-timeout sets this limit";
    }

    /** Whether asking again could not change that no job is started. */
    private boolean isUseless(HostAnswer answer, int attempts) {
        boolean refuses = attempts >= ATTEMPTS_AT_A_REFUSAL && answer.isRefusal();
        refused |= needsAll && refuses;
        return refused || refuses;
    }

    private static boolean past(long deadline) {
        return System.nanoTime() - deadline >= 0;
    }
}
