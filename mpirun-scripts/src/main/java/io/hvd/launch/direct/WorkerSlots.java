package io.hvd.launch.direct;

import io.hvd.launch.hosts.HostDiscovery;
import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.options.ElasticSettings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The slots of an elastic job's hosts: which of them workers have, and which may be used again. A slot whose worker has failed
 * stays empty, unless a cool-down says when it is used again. That of a host which has disappeared is tried again, since its worker
 * was not the reason. One thread uses it.
 */
final class WorkerSlots {

    private static final long DISCOVERY_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long FIRST_RETRY_SECONDS = 2;
    private static final long LONGEST_RETRY_SECONDS = 30;

    private final DirectPlan plan;
    private final ElasticSettings settings;
    /** By the name by which a host's ranks are started. */
    private final Map<String, Integer> slots = new LinkedHashMap<>();

    private final Map<Integer, PlannedRank> living = new HashMap<>();
    private final Map<String, List<Empty>> empty = new HashMap<>();
    private final Map<String, Integer> failures = new HashMap<>();
    private final Map<Integer, Boolean> lostHosts = new HashMap<>();
    private final LongSupplier clock;
    private final Executor background;
    /** The answer of the script, which may take its time; null if none is asked for. */
    private CompletableFuture<List<HostSlots>> answer;

    private long discovered;
    private boolean told;

    /** A slot that is not used before a time of the clock. */
    private record Empty(long until, boolean forEver) {
        boolean isOver(long now) {
            return !forEver && now - until >= 0;
        }
    }

    /**
     * @param clock in nanoseconds
     * @param background runs the script for discovery
     */
    WorkerSlots(DirectPlan plan, ElasticSettings settings, LongSupplier clock, Executor background) {
        this.clock = clock;
        this.background = background;
        this.discovered = clock.getAsLong();
        this.plan = plan;
        this.settings = settings;
        List<HostSlots> named = plan.job().hosts();
        if (named.isEmpty()) {
            slots.put(plan.job().machine().hostname(), settings.atMost());
        } else {
            note(named);
        }
    }

    private void note(List<HostSlots> hosts) {
        slots.clear();
        hosts.forEach(host -> slots.merge(
                plan.job().machine().is(host.host()) ? plan.job().machine().hostname() : host.host(),
                host.slots(),
                Integer::sum));
    }

    void take(PlannedRank worker) {
        living.put(worker.rank(), worker);
    }

    /** The host of a worker has disappeared. */
    void hostIsLost(int worker) {
        lostHosts.put(worker, true);
    }

    void ended(int worker, boolean failed) {
        PlannedRank was = living.remove(worker);
        if (was == null || !failed) {
            return;
        }
        String host = was.host();
        int count = failures.merge(host, 1, Integer::sum);
        boolean hostLost = lostHosts.remove(worker) != null;
        boolean forEver = !hostLost && settings.cooldown().isEmpty();
        long seconds = hostLost
                ? Math.min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS << Math.min(count - 1, Long.SIZE / 4))
                : settings.cooldown()
                        .map(range -> Math.min(
                                (long) range.most(), (long) range.least() << Math.min(count - 1, Long.SIZE / 4)))
                        .orElse(0L);
        empty.computeIfAbsent(host, name -> new ArrayList<>())
                .add(new Empty(clock.getAsLong() + TimeUnit.SECONDS.toNanos(seconds), forEver));
    }

    /**
     * Workers for slots that are free.
     *
     * @param next the number of the first of them
     * @param most how many there may be
     */
    List<PlannedRank> free(int next, int most) {
        discover();
        List<PlannedRank> more = new ArrayList<>();
        for (Map.Entry<String, Integer> host : slots.entrySet()) {
            List<Empty> unused = empty.computeIfAbsent(host.getKey(), name -> new ArrayList<>());
            unused.removeIf(slot -> slot.isOver(clock.getAsLong()));
            int taken = (int) living.values().stream()
                    .filter(worker -> worker.host().equals(host.getKey()))
                    .count();
            for (int slot = taken + unused.size(); slot < host.getValue() && more.size() < most; slot++) {
                more.add(worker(next + more.size(), host.getKey(), slot, host.getValue()));
            }
        }
        return more;
    }

    private PlannedRank worker(int number, String host, int slot, int ofHost) {
        return new PlannedRank(
                number,
                Math.max(settings.atMost(), number + 1),
                host,
                host.equals(plan.job().machine().hostname()),
                slot,
                ofHost,
                0,
                1);
    }

    private void discover() {
        if (settings.discovery().isEmpty()) {
            return;
        }
        HostDiscovery script = settings.discovery().get();
        if (answer == null && clock.getAsLong() - discovered >= DISCOVERY_NANOS) {
            answer = CompletableFuture.supplyAsync(() -> look(script), background);
        }
        if (answer == null || !answer.isDone()) {
            return;
        }
        discovered = clock.getAsLong();
        try {
            note(answer.join());
            told = false;
        } catch (CompletionException e) {
            if (!told) {
                told = true;
                System.err.println("horovodrun: --host-discovery-script " + script.script()
                        + " is tried again every second: " + e.getCause().getMessage());
            }
        }
        answer = null;
    }

    private static List<HostSlots> look(HostDiscovery script) {
        try {
            return script.look();
        } catch (IOException e) {
            throw new CompletionException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CompletionException(e);
        }
    }
}
