package io.hvd.elastic;

import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * What happens to the workers and to the network of a simulated job, apart from the safe workers. Much of it happens at bad
 * times: soon after a generation has begun, which is in the transfer of the state, or soon after one has lost a member.
 */
final class Disturbances {
    private static final int SOON_MILLIS = 500;
    private static final int LAST_BEGIN_MILLIS = 12_000;

    private final SimulatedJob job;
    private final NavigableMap<Integer, Runnable> kinds = new TreeMap<>();
    private final List<Runnable> onceFormed = new ArrayList<>();
    private final List<Runnable> onceBroken = new ArrayList<>();
    private int weights;

    Disturbances(SimulatedJob job) {
        this.job = job;
        kind(4, () -> kill(1));
        kind(2, () -> kill(2 + random(2)));
        kind(2, this::killRoot);
        kind(1, this::killHost);
        kind(2, this::stop);
        kind(2, this::cutOffHost);
        kind(1, this::cutPair);
        kind(1, this::cutOffCoordinator);
        kind(3, this::terminate);
        kind(3, () -> add(1 + random(3)));
        kind(1, () -> pick().forEach(SimulatedWorker::computeForLong));
    }

    private void kind(int weight, Runnable disturbance) {
        kinds.put(weights, disturbance);
        weights += weight;
    }

    private int random(int bound) {
        return job.random().nextInt(bound);
    }

    void plan() {
        for (int i = 0; i < job.scenario().disturbances(); i++) {
            Runnable disturbance = kinds.floorEntry(random(weights)).getValue();
            int soon = random(SOON_MILLIS);
            switch (random(4)) {
                case 0 -> onceFormed.add(() -> job.time().after(soon, disturbance));
                case 1 -> onceBroken.add(() -> job.time().after(soon, disturbance));
                default -> job.time().after(random(LAST_BEGIN_MILLIS), disturbance);
            }
        }
    }

    /** A generation has begun. */
    void formed() {
        next(onceFormed);
    }

    /** A generation has lost its first member. */
    void broke() {
        next(onceBroken);
    }

    private void next(List<Runnable> waiting) {
        while (!waiting.isEmpty() && random(2) == 0) {
            waiting.remove(waiting.size() - 1).run();
        }
    }

    private void note(String what, Object whom) {
        job.tally().count(what);
        job.write("* " + what + ": " + whom);
    }

    private boolean isSafe(SimulatedWorker worker) {
        return worker.number() < job.scenario().safeWorkers();
    }

    private List<SimulatedWorker> targets() {
        return job.workers().stream()
                .filter(worker -> worker.isAlive() && !isSafe(worker))
                .toList();
    }

    /** One of the workers to which something may happen, if there is one. */
    private List<SimulatedWorker> pick() {
        List<SimulatedWorker> targets = targets();
        return targets.isEmpty() ? List.of() : List.of(targets.get(random(targets.size())));
    }

    private void kill(int count) {
        for (int i = 0; i < count; i++) {
            pick().forEach(this::kill);
        }
    }

    private void kill(SimulatedWorker worker) {
        note("kills", worker.number());
        worker.end("it was killed");
    }

    private void killRoot() {
        if (job.latest() != null
                && job.latest().root().isAlive()
                && !isSafe(job.latest().root())) {
            kill(job.latest().root());
        }
    }

    private void killHost() {
        int host = random(job.scenario().hosts());
        targets().stream().filter(worker -> worker.host() == host).forEach(this::kill);
    }

    private void stop() {
        for (SimulatedWorker worker : pick()) {
            if (!worker.isStopped()) {
                note("stops", worker.number());
                worker.stop();
                job.time().after(random(3) == 0 ? 5_000 + random(25_000) : 200 + random(4_000), worker::goOn);
            }
        }
    }

    private void terminate() {
        for (SimulatedWorker worker : pick()) {
            note("terminations", worker.number());
            worker.terminate();
            if (random(2) == 0) {
                job.time().after(2_000 + random(15_000), () -> worker.end("it was killed after SIGTERM"));
            }
        }
    }

    private void add(int count) {
        for (int i = 0; i < count && job.workers().size() < 40; i++) {
            note("additions", job.workers().size());
            job.start(random(10) > 0);
        }
    }

    private void cutOffHost() {
        int host = host();
        if (host >= 0) {
            for (int other = 0; other <= job.scenario().hosts(); other++) {
                if (other != host) {
                    cut(host, other, 0);
                }
            }
            heal(host, cutMillis());
        }
    }

    /** A host to which something may happen and to which nothing happens now, or -1. */
    private int host() {
        int first = job.scenario().safeWorkers() > 0 ? 1 : 0;
        int hosts = job.scenario().hosts() - first;
        int host = hosts == 0 ? -1 : first + random(hosts);
        return host < 0 || job.network().isCut(host) ? -1 : host;
    }

    /**
     * Where there are safe workers a cut is either too short to be noticed, or so long that the coordinator hears nothing of
     * the workers behind it until the others have said whom they miss.
     */
    private int cutMillis() {
        Scenario scenario = job.scenario();
        boolean isShort = random(2) == 0;
        if (scenario.safeWorkers() > 0) {
            return isShort ? 50 + random(scenario.detectMillis() - 500) : (int) scenario.boundMillis() + random(10_000);
        }
        return isShort ? 50 + random(4_000) : 4_000 + random(20_000);
    }

    private void cutPair() {
        int one = host();
        int other = host();
        if (one >= 0 && other >= 0 && one != other && job.scenario().safeWorkers() == 0) {
            int millis = cutMillis();
            cut(one, other, millis);
        }
    }

    private void cutOffCoordinator() {
        int host = host();
        if (host >= 0) {
            cut(host, job.network().coordinator(), cutMillis());
        }
    }

    private void cut(int one, int other, int millis) {
        note("cuts", one + " and " + other);
        job.network().cut(one, other);
        shake(one, other);
        if (other == job.network().coordinator()) {
            endConnections(one);
        }
        if (millis > 0) {
            job.time().after(millis, () -> healed(one, other));
        }
    }

    private void heal(int host, int millis) {
        job.time().after(millis, () -> {
            for (int other = 0; other <= job.scenario().hosts(); other++) {
                if (other != host) {
                    healed(host, other);
                }
            }
        });
    }

    private void healed(int one, int other) {
        job.write("* heals: " + one + " and " + other);
        job.network().heal(one, other);
        shake(one, other);
    }

    private void shake(int host, int other) {
        job.changed();
        if (other == job.network().coordinator()) {
            job.workers().stream().filter(worker -> worker.host() == host).forEach(SimulatedWorker::shake);
        }
    }

    /** Connections with the coordinator that are cut for too long have ended for good. */
    private void endConnections(int host) {
        long life = job.scenario().connectionMillis();
        if (life == Long.MAX_VALUE) {
            return;
        }
        int coordinator = job.network().coordinator();
        long since = job.network().cutSince(host, coordinator);
        job.time().after(life, () -> {
            if (!job.network().reaches(host, coordinator) && job.network().cutSince(host, coordinator) == since) {
                targets().stream().filter(worker -> worker.host() == host).forEach(worker -> {
                    note("lost connections", worker.number());
                    worker.loseConnection();
                });
            }
        });
    }
}
