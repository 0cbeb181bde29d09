package io.hvd.doctor.hosts;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * hvd-doctor on another host: answers what comes over standard input and ends with it. Where ssh has died without
 * closing anything, it ends by itself a minute after the last question.
 */
public final class Agent {

    private static final int PATIENCE_SECONDS = 60;

    private final ExaminedHost examined;
    private final PrintStream out;

    public Agent(ExaminedHost examined, PrintStream out) {
        this.examined = examined;
        this.out = out;
    }

    public void run(BufferedReader in) throws IOException, InterruptedException {
        ScheduledExecutorService watch = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "hvd-doctor-patience");
            thread.setDaemon(true);
            return thread;
        });
        try (examined) {
            ScheduledFuture<?> end = end(watch);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                end.cancel(false);
                answer(line);
                end = end(watch);
            }
        } finally {
            watch.shutdownNow();
        }
    }

    private static ScheduledFuture<?> end(ScheduledExecutorService watch) {
        return watch.schedule(() -> Runtime.getRuntime().halt(1), PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private void answer(String line) throws InterruptedException {
        try {
            Optional<AgentMessages.Opening> opening =
                    AgentMessages.read(line, AgentMessages.Opening.class).filter(message -> message.secret() != null);
            if (opening.isPresent()) {
                AgentMessages.send(out, examined.open(opening.get()));
                return;
            }
            Optional<AgentMessages.Errand> errand = AgentMessages.read(line, AgentMessages.Errand.class);
            if (errand.isPresent()) {
                AgentMessages.send(out, new AgentMessages.Links(examined.measure(errand.get())));
            }
        } catch (HostException e) {
            out.println(e.getMessage());
        }
    }
}
