package io.hvd.elastic;

import io.hvd.elastic.ElasticEvent.Ended;
import io.hvd.elastic.ElasticEvent.Heard;
import io.hvd.elastic.ElasticEvent.Joined;
import io.hvd.elastic.ElasticEvent.Leaving;
import io.hvd.elastic.ElasticEvent.Ready;
import io.hvd.elastic.ElasticEvent.Started;
import io.hvd.elastic.ElasticOrder.Abandon;
import io.hvd.elastic.ElasticOrder.Finish;
import io.hvd.elastic.ElasticOrder.Form;
import io.hvd.elastic.ElasticOrder.Interrupt;
import io.hvd.elastic.ElasticOrder.Release;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What holds in every elastic job, whatever happens: one generation at a time, no hang, no state lost that somebody still
 * has, each sample counted once, ranks that stay, and an end only for a reason that is true.
 */
final class SimulationInvariants {
    /** A worker that has been running and connected for so long is known as such to the coordinator. */
    private static final long STEADY_MILLIS = 4_000;

    private static final long TICKS_MILLIS = 600;

    private final SimulatedJob job;
    /** Of which the coordinator knows. */
    private final Set<Integer> started = new HashSet<>();

    private final Set<Integer> joined = new HashSet<>();
    private final Set<Integer> ended = new HashSet<>();
    private final Set<Integer> released = new HashSet<>();
    private final Map<Integer, String> names = new HashMap<>();
    /** Names of workers that have ended since the latest generation began. */
    private final Set<String> missing = new HashSet<>();

    private Form latest;
    /** The most steps that any worker's state has ever seen. */
    private long furthest;

    private long brokenSince;
    private boolean broken = true;
    private long toldBrokenSince;
    /** When workers were let go at the limit. */
    private long lastLate = -1;

    private boolean toldBroken = true;
    /** Those of the latest generation that have said that they are done, and when the first did. */
    private final Set<Integer> trained = new HashSet<>();

    private long trainedSince;
    /** When each worker was heard last. */
    private final Map<Integer, Long> heard = new HashMap<>();

    SimulationInvariants(SimulatedJob job) {
        this.job = job;
    }

    private void require(boolean holds, String what) {
        if (!holds) {
            throw job.failure(what);
        }
    }

    boolean wasReleased(int worker) {
        return released.contains(worker);
    }

    void told(ElasticEvent event) {
        if (event instanceof Heard it) {
            heard.put(it.worker(), now());
        } else if (event instanceof Leaving it) {
            heard.put(it.worker(), now());
        } else if (event instanceof Ready it) {
            heard.put(it.worker(), now());
        }
        if (event instanceof Started it) {
            started.add(it.worker());
            nameByNumber(it.worker());
        } else if (event instanceof Joined it) {
            if (started.add(it.worker())) {
                nameByNumber(it.worker());
            }
            joined.add(it.worker());
        } else if (event instanceof Ended it) {
            toldOfEnd(it.worker());
        } else if (event instanceof Ready it && latest != null && it.generation() == latest.number()) {
            if (!it.done()) {
                toldBroken();
            } else if (trained.isEmpty()) {
                trainedSince = now(); // the others may take their time behind the last step
            }
            if (it.done()) {
                trained.add(it.worker());
            }
        }
    }

    private void nameByNumber(int worker) {
        names.put(worker, "worker " + worker + " on " + worker(worker).hostName());
    }

    private void toldOfEnd(int worker) {
        if (ended.add(worker) && started.contains(worker) && !released.contains(worker)) {
            missing.add(names.get(worker));
            if (latest != null && latest.members().contains(worker) && !trained.contains(worker)) {
                toldBroken();
            }
        }
    }

    private void toldBroken() {
        if (!toldBroken) {
            toldBroken = true;
            toldBrokenSince = now();
        }
    }

    void broke() {
        if (!broken) {
            broken = true;
            brokenSince = now();
        }
    }

    private long now() {
        return job.time().now();
    }

    void ordered(ElasticOrder order) {
        if (order instanceof Form form) {
            formed(form);
        } else if (order instanceof Interrupt it) {
            requireOfLatest(it.generation(), it.members(), order);
        } else if (order instanceof Abandon it) {
            requireOfLatest(it.generation(), it.members(), order);
        } else if (order instanceof Release release) {
            released(release);
        } else if (order instanceof Finish finish) {
            finished(finish.failure());
        }
    }

    private void requireOfLatest(int generation, List<Integer> members, ElasticOrder order) {
        require(
                latest != null
                        && latest.number() == generation
                        && latest.members().containsAll(members),
                "an order goes to others than the latest generation: " + order);
        requireThere(members, order);
    }

    private void requireThere(Collection<Integer> workers, ElasticOrder order) {
        for (int worker : workers) {
            require(
                    started.contains(worker) && !ended.contains(worker) && !released.contains(worker),
                    "worker " + worker + " is not there: " + order);
        }
    }

    private void formed(Form form) {
        ElasticLimits limits = job.scenario().limits();
        int size = form.members().size();
        require(
                size >= limits.atLeast() && size <= limits.atMost(),
                "a generation has a size beyond the limits: " + form);
        require(new HashSet<>(form.members()).size() == size, "a worker has two ranks: " + form);
        require(joined.containsAll(form.members()), "a worker is a member before it has joined: " + form);
        requireThere(form.members(), form);
        require(form.number() == (latest == null ? 0 : latest.number() + 1), "the numbers have a gap: " + form);
        require(form.number() <= limits.resets(), "there are more resets than the limit: " + form);
        for (int member : form.members()) {
            SimulatedWorker worker = worker(member);
            require(!worker.isAlive() || worker.isWaiting(), "worker " + member + " is still active: " + form);
        }
        survivorsStay(form);
        newestStateStays(form);
        broken = false;
        toldBroken = false;
        trained.clear();
        missing.clear();
        latestMembers().forEach(this::nameByNumber);
        for (int rank = 0; rank < size; rank++) {
            names.put(
                    form.members().get(rank),
                    "rank " + rank + " (worker " + form.members().get(rank) + " on "
                            + worker(form.members().get(rank)).hostName() + ")");
        }
        latest = form;
    }

    private SimulatedWorker worker(int number) {
        return job.workers().get(number);
    }

    private List<Integer> latestMembers() {
        return latest == null ? List.of() : latest.members();
    }

    private void survivorsStay(Form form) {
        for (int rank = 0; rank < latestMembers().size(); rank++) {
            int worker = latestMembers().get(rank);
            int next = form.members().indexOf(worker);
            require(next < 0 || rank >= form.members().size() || next == rank, "rank " + rank + " has moved: " + form);
            require(next >= 0 || !isCandidate(worker), "rank " + rank + " is left out: " + form);
        }
    }

    /** Whether a worker can be a member and wants to: no doubt about it is possible. */
    private boolean isCandidate(int number) {
        SimulatedWorker worker = worker(number);
        return worker.isSteady(STEADY_MILLIS)
                && joined.contains(number)
                && !ended.contains(number)
                && !released.contains(number)
                && !worker.isLeaving();
    }

    private void newestStateStays(Form form) {
        long step = worker(form.members().get(form.root())).step();
        for (int worker : latestMembers()) {
            require(
                    !isCandidate(worker) || step >= worker(worker).step(),
                    "worker " + worker + " has the newest state, and another is the root: " + form);
        }
    }

    /** A generation's members have the root's state. */
    void synced(SimulatedGeneration generation, TrainedState state) {
        long step = state == null ? 0 : state.step();
        require(state != null || furthest <= 1, "the training begins again after step " + furthest);
        require(step >= furthest - 1, "the training goes back to step " + step + " after step " + furthest);
        requireLatest(generation);
    }

    private void requireLatest(SimulatedGeneration generation) {
        require(
                generation.number() == latest.number(),
                "generation " + generation.number() + " makes a step, and " + latest.number() + " has begun");
    }

    /** All members take part in a step. */
    void stepped(SimulatedGeneration generation) {
        requireLatest(generation);
        TrainedState first = generation.members().get(0).state();
        for (SimulatedWorker member : generation.members()) {
            require(member.state().isSameAs(first), "rank 0 and worker " + member.number() + " have other states");
        }
    }

    /** A worker has the state that follows from a round. */
    void holds(SimulatedWorker worker, int generation) {
        furthest = Math.max(furthest, worker.step());
        require(
                generation == latest.number() || released.contains(worker.number()) || ended.contains(worker.number()),
                "worker " + worker.number() + " goes on in generation " + generation + ", and " + latest.number()
                        + " has begun");
    }

    private void released(Release release) {
        requireThere(List.of(release.worker()), release);
        SimulatedWorker worker = worker(release.worker());
        boolean late = toldBroken
                        && (now() == lastLate
                                || now() - toldBrokenSince
                                        >= job.scenario().limits().timeoutMillis())
                || !trained.isEmpty()
                        && now() - trainedSince >= job.scenario().limits().timeoutMillis();
        require(
                release.wanted() || late || wasUnheard(worker) || wasApart(worker),
                "worker " + release.worker() + " has to go although its host was always reachable: " + release);
        released.add(release.worker());
        if (wasUnheard(worker)) {
            broke(); // of which the others hear by this
            toldBroken();
        }
        if (late && !release.wanted()) {
            lastLate = now();
            toldBrokenSince = now(); // from then on others may come in its place, for as long
        }
    }

    /** Whether it has been silent to the limit, and no launcher would tell its end. */
    private boolean wasUnheard(SimulatedWorker worker) {
        long silent = now() - heard.getOrDefault(worker.number(), 0L);
        return !job.scenario().announces() && silent >= job.scenario().limits().timeoutMillis();
    }

    /** Whether a worker's host and another one of its generation have been cut off from each other. */
    private boolean wasApart(SimulatedWorker worker) {
        return job.latest().members().stream().anyMatch(other -> job.network().wasEverCut(worker.host(), other.host()));
    }

    /** Looks now and then whether the job gets on. */
    void look() {
        Scenario scenario = job.scenario();
        require(
                !toldBroken || now() - toldBrokenSince <= scenario.limits().timeoutMillis() + TICKS_MILLIS,
                "no generation has begun within the limit, and the job has not ended");
        if (job.quietMillis() >= scenario.boundMillis()) {
            if (broken) {
                lookForHang(scenario);
            } else {
                lookForGrowth(scenario);
            }
        }
    }

    private void lookForHang(Scenario scenario) {
        long candidates = candidates().stream().filter(this::isOfLatestOrNew).count();
        boolean state = latest == null || latest.members().stream().anyMatch(this::isCandidate);
        int needed =
                latest == null ? scenario.limits().first() : scenario.limits().atLeast();
        require(
                candidates < needed || !state || now() - brokenSince < scenario.boundMillis(),
                candidates + " workers wait, " + needed + " are needed, and no generation begins");
    }

    private boolean isOfLatestOrNew(int worker) {
        return worker(worker).isWaiting();
    }

    private void lookForGrowth(Scenario scenario) {
        boolean full = latest.members().size() == scenario.limits().atMost()
                || latest.number() == scenario.limits().resets();
        for (SimulatedWorker worker : job.workers()) {
            boolean outside = !latest.members().contains(worker.number());
            require(
                    full || !outside || !isCandidate(worker.number()),
                    "worker " + worker.number() + " waits, and the generation does not grow");
            require(
                    !worker.isLeaving() || !worker.isSteady(STEADY_MILLIS) || outside,
                    "worker " + worker.number() + " wants to leave, and is not let go");
        }
    }

    private List<Integer> candidates() {
        return job.workers().stream()
                .map(SimulatedWorker::number)
                .filter(this::isCandidate)
                .toList();
    }

    private void finished(String failure) {
        List<Integer> survivors =
                latestMembers().stream().filter(this::isCandidate).toList();
        boolean state = latest == null
                || survivors.stream().anyMatch(worker -> worker(worker).step() >= 0);
        if (failure.isEmpty()) {
            succeeded();
        } else if (failure.contains("--reset-limit")) {
            require(latest.number() == job.scenario().limits().resets(), "the limit of resets is not reached");
        } else if (failure.contains("--min-np")) {
            boolean enough = candidates().size() >= job.scenario().limits().atLeast();
            require(!enough || !state, "enough ranks are there: " + failure);
            require(
                    now() - waitedSince() >= job.scenario().limits().timeoutMillis(),
                    "the job ends before the limit: " + failure);
            namesTheMissing(failure);
        } else {
            require(failure.contains("state of the training"), "an unknown failure: " + failure);
            require(!state, "a rank has the state: " + failure);
        }
        job.tally().count(failure.isEmpty() ? "successes" : "failures");
        require(
                failure.isEmpty() || failure.contains("--reset-limit") || !safeWorkersAreMembers(),
                "the job has failed although enough of its ranks were always there: " + failure);
    }

    /** A connection may end for the coordinator before the others find that the generation is over. */
    private long waitedSince() {
        return toldBroken ? Math.min(brokenSince, toldBrokenSince) : brokenSince;
    }

    private void namesTheMissing(String failure) {
        for (String name : missing) {
            require(failure.contains(name), name + " is missing and not named: " + failure);
        }
        for (int worker : started) {
            boolean silent = !joined.contains(worker) && !ended.contains(worker);
            require(!silent || failure.contains(names.get(worker)), names.get(worker) + " is not named: " + failure);
        }
    }

    private boolean safeWorkersAreMembers() {
        int safe = job.scenario().safeWorkers();
        return safe > 0
                && latest != null
                && job.generation(0).members().stream()
                                .filter(worker -> worker.number() < safe)
                                .count()
                        == safe;
    }

    private void succeeded() {
        SimulatedWorker any = null;
        for (int member : latest.members()) {
            SimulatedWorker worker = worker(member);
            require(
                    worker.isDone() || !isCandidate(member),
                    "rank of worker " + member + " is not done, and the job ends");
            any = worker.isDone() ? worker : any;
        }
        require(any != null, "the job ends and no rank is done");
        require(any.state().hasCountedEachSampleOnce(), "samples were counted twice or not at all");
    }
}
