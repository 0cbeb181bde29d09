package io.hvd.doctor;

import io.hvd.doctor.checks.Finding;
import io.hvd.doctor.facts.Facts;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import io.hvd.doctor.hosts.AgentMessages;
import io.hvd.doctor.hosts.ExaminedHost;
import io.hvd.doctor.hosts.HostException;
import io.hvd.doctor.hosts.ThisHost;
import io.hvd.doctor.network.ExaminationSecret;
import io.hvd.doctor.network.MeasuredLink;
import io.hvd.doctor.network.MeasurementRounds;
import io.hvd.launch.hosts.HostSlots;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Asks all hosts at the same time, then has them measure the ways between them; one object for one run. */
final class Examination implements AutoCloseable {

    private static final int MOST_MILLIS = 500;
    private static final int FEWEST_MILLIS = 50;
    /** For sending bytes, over all rounds; many hosts measure for a shorter time each. */
    private static final int ALL_MILLIS = 8_000;

    private final DoctorSettings settings;
    private final Map<String, String> handedOn;
    private final Map<String, ExaminedHost> examinedHosts;
    private final ExaminationSecret secret = ExaminationSecret.random();
    private final List<Finding> failures = new ArrayList<>();
    private final List<MeasuredLink> links = new ArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "hvd-doctor-host");
        thread.setDaemon(true);
        return thread;
    });

    /**
     * @param examinedHosts the examined hosts by their names in the host list
     * @param handedOn the variables that horovodrun would give to the ranks
     */
    Examination(DoctorSettings settings, Map<String, ExaminedHost> examinedHosts, Map<String, String> handedOn) {
        this.settings = settings;
        this.examinedHosts = new LinkedHashMap<>(examinedHosts);
        this.handedOn = handedOn;
    }

    /** Findings about hosts that could not be examined. */
    List<Finding> failures() {
        return List.copyOf(failures);
    }

    HostInventory examine() throws InterruptedException {
        Map<String, Facts> facts = open();
        if (settings.measures() && facts.size() > 1) {
            measure(facts);
        }
        List<String> order = List.copyOf(facts.keySet());
        links.sort(Comparator.comparing((MeasuredLink link) -> order.indexOf(link.from()))
                .thenComparing(link -> order.indexOf(link.to())));
        return new HostInventory(
                hosts(facts),
                List.copyOf(links),
                settings.heapBytes(),
                settings.nativeBytes(),
                settings.interfaces(),
                String.join(" ", ssh()));
    }

    private List<String> ssh() {
        List<String> words = new ArrayList<>(List.of("ssh"));
        words.addAll(settings.ssh().words());
        return words;
    }

    private List<Host> hosts(Map<String, Facts> facts) {
        int coresHere = facts.values().stream()
                .findFirst()
                .map(one -> one.limits().cores())
                .orElse(1);
        List<Integer> ranks = settings.ranksPerHost(coresHere);
        List<String> names = settings.hosts().isEmpty()
                ? List.copyOf(examinedHosts.keySet())
                : settings.hosts().stream().map(HostSlots::host).toList();
        List<Host> hosts = new ArrayList<>();
        for (int i = 0; i < names.size(); i++) {
            String name = names.get(i);
            if (facts.containsKey(name)) {
                hosts.add(new Host(name, ranks.get(i), examinedHosts.get(name) instanceof ThisHost, facts.get(name)));
            }
        }
        return hosts;
    }

    private Map<String, Facts> open() throws InterruptedException {
        List<String> names = List.copyOf(examinedHosts.keySet());
        Map<String, Future<Facts>> asked = new LinkedHashMap<>();
        for (String name : names) {
            var opening = new AgentMessages.Opening(name, secret.hex(), names, handedOn, settings.interfaces());
            asked.put(name, threads.submit(() -> examinedHosts.get(name).open(opening)));
        }
        Map<String, Facts> facts = new LinkedHashMap<>();
        for (var one : asked.entrySet()) {
            result(one.getValue()).ifPresent(found -> facts.put(one.getKey(), found));
        }
        return facts;
    }

    private void measure(Map<String, Facts> facts) throws InterruptedException {
        List<String> names = new ArrayList<>(facts.keySet());
        List<List<MeasurementRounds.Pair>> rounds = MeasurementRounds.of(names.size());
        int millis = Math.max(FEWEST_MILLIS, Math.min(MOST_MILLIS, ALL_MILLIS / rounds.size()));
        for (List<MeasurementRounds.Pair> round : rounds) {
            List<Future<List<MeasuredLink>>> asked = new ArrayList<>();
            for (MeasurementRounds.Pair pair : round) {
                String to = names.get(pair.to());
                var errand =
                        new AgentMessages.Errand(to, facts.get(to).network().ports(), millis);
                Callable<List<MeasuredLink>> work =
                        () -> examinedHosts.get(names.get(pair.from())).measure(errand);
                asked.add(threads.submit(work));
            }
            for (Future<List<MeasuredLink>> one : asked) {
                result(one).ifPresent(links::addAll);
            }
        }
    }

    /** Every host answers or gives up by itself. */
    private <T> Optional<T> result(Future<T> future) throws InterruptedException {
        try {
            return Optional.of(future.get());
        } catch (ExecutionException e) {
            if (e.getCause() instanceof HostException known) {
                failures.add(known.finding());
                return Optional.empty();
            }
            throw new IllegalStateException(e.getCause());
        }
    }

    @Override
    public void close() throws IOException {
        threads.shutdownNow();
        for (ExaminedHost host : examinedHosts.values()) {
            host.close();
        }
    }
}
