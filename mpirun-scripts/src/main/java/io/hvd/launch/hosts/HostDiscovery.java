package io.hvd.launch.hosts;

import io.hvd.launch.words.UsageException;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A program of the user's that prints the hosts that there are, one in a line.
 *
 * @param script the program
 * @param slotsPerHost slots of a host for which it gives none
 */
public record HostDiscovery(Path script, int slotsPerHost) {

    private static final long LIMIT_SECONDS = 30;

    /** The hosts before the job begins. @throws UsageException if the program fails */
    public List<HostSlots> first() {
        try {
            List<HostSlots> hosts = look();
            if (hosts.isEmpty()) {
                throw new IOException("it names no host, expected lines of the form host or host:slots");
            }
            return hosts;
        } catch (IOException e) {
            throw new UsageException("discovery", "--host-discovery-script " + script + ": " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UsageException("discovery", "--host-discovery-script " + script + " was interrupted");
        }
    }

    /** The hosts as they are now. @throws IOException that says how the program has failed, or that it has not ended in time */
    public List<HostSlots> look() throws IOException, InterruptedException {
        return look(LIMIT_SECONDS);
    }

    List<HostSlots> look(long limitSeconds) throws IOException, InterruptedException {
        Process run = new ProcessBuilder(script.toString())
                .redirectInput(new File("/dev/null"))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            CompletableFuture<String> said = CompletableFuture.supplyAsync(() -> read(run));
            if (!run.waitFor(limitSeconds, TimeUnit.SECONDS)) {
                throw new IOException("it has not ended within " + limitSeconds + " s");
            }
            if (run.exitValue() != 0) {
                throw new IOException("it has ended with exit code " + run.exitValue());
            }
            return parse(said.get(limitSeconds, TimeUnit.SECONDS));
        } catch (ExecutionException | TimeoutException e) {
            throw new IOException("its output cannot be read: " + e.getMessage(), e);
        } finally {
            run.descendants().forEach(ProcessHandle::destroyForcibly);
            run.destroyForcibly();
        }
    }

    private static String read(Process run) {
        try {
            return new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    List<HostSlots> parse(String said) throws IOException {
        List<String> words = new ArrayList<>();
        for (String line : said.lines().map(String::strip).toList()) {
            if (!line.isEmpty()) {
                words.add(
                        line.matches(".*[^:]:\\d+") || line.matches("\\[.*]:\\d+") ? line : line + ":" + slotsPerHost);
            }
        }
        if (words.isEmpty()) {
            return List.of();
        }
        try {
            return HostSlots.parse(String.join(",", words));
        } catch (UsageException e) {
            throw new IOException("it printed " + words + ", expected lines of the form host or host:slots", e);
        }
    }
}
