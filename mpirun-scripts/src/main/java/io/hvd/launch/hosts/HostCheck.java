package io.hvd.launch.hosts;

import io.hvd.launch.words.ShellWords;
import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.io.PrintStream;
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
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Asks other hosts, all at the same time, whether ssh reaches them and which network interfaces they have. A host that
 * is not reached is asked again until the limit, since its name or its sshd may come later, as those of a pod do;
 * unless ssh says what time does not mend, such as a key that the host does not accept.
 */
final class HostCheck {

    /** How ssh begins to say that a name leads to no address. */
    private static final String UNKNOWN_NAME = "Could not resolve hostname";

    /** How often a host that refuses is asked: a service that knows the users may be late once. */
    private static final int ATTEMPTS_AT_A_REFUSAL = 5;

    /** What ssh says where waiting is no use: the user is not let in, or the host is not the one it was. */
    private static final Pattern REFUSAL = Pattern.compile(
            "Permission denied|Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED"
                    + "|Too many authentication failures|Unable to negotiate|Bad configuration option"
                    + "|[Bb]ad owner or permissions|terminating, \\d+ bad configuration options",
            Pattern.CASE_INSENSITIVE);

    private static final String SAYS_NAME = "hvd-host-name: ";

    /** The interfaces, and what the host calls itself. */
    private static final String QUESTION = "ls /sys/class/net; echo " + SAYS_NAME + "$(cat /proc/sys/kernel/hostname)";

    private static final int MOST_AT_ONCE = 128;
    private static final int MOST_SHOWN = 3;
    private static final long FIRST_PAUSE_MILLIS = 100;
    private static final long LONGEST_PAUSE_MILLIS = 2_000;
    private static final Duration UNTIL_TOLD = Duration.ofSeconds(5);

    private final Path ssh;
    private final SshAccess access;
    private final Duration limit;
    private final PrintStream progress;
    private final Duration untilTold;
    private final Set<Process> running = ConcurrentHashMap.newKeySet();
    private final Semaphore places = new Semaphore(MOST_AT_ONCE);
    /** What is said of the hosts that are not reached yet. */
    private final Map<String, String> waiting = new ConcurrentSkipListMap<>();
    /** What each host that was reached calls itself. */
    private final Map<String, String> hostnames = new ConcurrentSkipListMap<>();
    /** A host has refused, so that no job can start: the others are not asked again. */
    private volatile boolean refused;

    private boolean ended;

    /** @param interfaces empty where ssh did not reach the host; then {@code said} has the reason */
    private record Answer(Optional<Set<String>> interfaces, String said) {
        boolean isRefusal() {
            return interfaces.isEmpty() && REFUSAL.matcher(said).find();
        }
    }

    /** @param progress gets a line from time to time while a host is waited for */
    HostCheck(Path ssh, SshAccess access, Duration limit, PrintStream progress) {
        this(ssh, access, limit, progress, UNTIL_TOLD);
    }

    /** @param untilTold from line to line */
    HostCheck(Path ssh, SshAccess access, Duration limit, PrintStream progress, Duration untilTold) {
        this.ssh = ssh;
        this.access = access;
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
        long deadline = System.nanoTime() + limit.toNanos();
        var atExit = new Thread(this::end, "hvd-host-check-end");
        Runtime.getRuntime().addShutdownHook(atExit);
        ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, hosts.size()));
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

    /** What the hosts that were asked call themselves; one that says nothing is missing. */
    Map<String, String> hostnames() {
        return Map.copyOf(hostnames);
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

    private Answer answer(Future<Answer> future) throws InterruptedException {
        try {
            while (true) {
                try {
                    return future.get(untilTold.toMillis(), TimeUnit.MILLISECONDS); // ends by itself, at the deadline
                } catch (TimeoutException e) {
                    tellWhoIsWaitedFor();
                }
            }
        } catch (ExecutionException e) {
            return new Answer(Optional.empty(), String.valueOf(e.getCause().getMessage()));
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

    private Answer askUntil(long deadline, String host) throws IOException, InterruptedException {
        waiting.put(host, "");
        Answer answer = askInTurn(deadline, host);
        String reason = answer.said();
        long pause = FIRST_PAUSE_MILLIS;
        int attempts = 1;
        while (answer.interfaces().isEmpty() && !past(deadline) && !isUseless(answer, attempts)) {
            waiting.put(host, answer.said());
            TimeUnit.MILLISECONDS.sleep(Math.min(pause, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
            pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS);
            answer = askInTurn(deadline, host);
            attempts++;
            // A question that the limit cuts short says nothing of the host.
            reason = past(deadline) && !reason.isEmpty() ? reason : answer.said();
        }
        waiting.remove(host);
        return answer.interfaces().isPresent() || refused || attempts == 1
                ? answer
                : new Answer(Optional.empty(), reason + withinTheLimit(attempts));
    }

    private String withinTheLimit(int attempts) {
        return "\nasked " + attempts + " times within " + limit.toSeconds() + " s; --start-timeout sets this limit";
    }

    /** Whether asking again could not change that no job is started. */
    private boolean isUseless(Answer answer, int attempts) {
        refused |= attempts >= ATTEMPTS_AT_A_REFUSAL && answer.isRefusal();
        return refused;
    }

    private Answer askInTurn(long deadline, String host) throws IOException, InterruptedException {
        if (!places.tryAcquire(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS)) {
            return new Answer(Optional.empty(), "not asked within " + limit.toSeconds() + " s");
        }
        try {
            return ask(deadline, host);
        } finally {
            places.release();
        }
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
            said.lines()
                    .filter(line -> line.startsWith(SAYS_NAME))
                    .map(line -> line.substring(SAYS_NAME.length()).strip())
                    .filter(name -> !name.isEmpty())
                    .forEach(name -> hostnames.put(host, name));
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
        Process process = new ProcessBuilder(words(host, QUESTION))
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
        boolean unknown = failed.values().stream().allMatch(said -> said.contains(UNKNOWN_NAME));
        text.append(
                        unknown
                                ? "No such host is known here: give other names, or add these to DNS or /etc/hosts. Try: "
                                : "Each host must let this user in without a password. Try: ")
                .append(ShellWords.join(words(first, "true")));
        return new UsageException("hosts-unreachable", text.toString());
    }
}
