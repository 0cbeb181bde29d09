package io.hvd.elastic;

import io.hvd.elastic.ElasticEvent.Ended;
import io.hvd.elastic.ElasticEvent.Heard;
import io.hvd.elastic.ElasticEvent.Started;
import io.hvd.elastic.ElasticEvent.Tick;
import io.hvd.elastic.ElasticOrder.Abandon;
import io.hvd.elastic.ElasticOrder.Form;
import io.hvd.elastic.ElasticOrder.Interrupt;
import io.hvd.elastic.ElasticOrder.Release;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;

/**
 * An elastic job in virtual time: a coordinator, workers that train, and a network between them. Everything follows from the
 * seed. What the coordinator must guarantee is checked as it happens ({@link SimulationInvariants}).
 */
final class SimulatedJob {
    private static final int TICK_MILLIS = 250;
    private static final long LONGEST_MILLIS = 900_000;
    private static final int LAST_LINES = 120;

    private final long seed;
    private final VirtualTime time = new VirtualTime();
    private final Random random;
    private final Scenario scenario;
    private final SimulatedNetwork network;
    private final Coordinator coordinator;
    private final UnaryOperator<List<ElasticOrder>> orders;
    private final SimulationInvariants invariants;
    private final Disturbances disturbances;
    private final SimulationTally tally;
    private final boolean writes;
    private final List<String> history = new ArrayList<>();
    private final List<SimulatedWorker> workers = new ArrayList<>();
    private final List<SimulatedGeneration> generations = new ArrayList<>();
    private long lastChange;

    private SimulatedJob(long seed, UnaryOperator<List<ElasticOrder>> orders, SimulationTally tally, boolean writes) {
        this.seed = seed;
        this.random = new Random(seed);
        this.scenario = Scenario.of(random);
        this.network = new SimulatedNetwork(time, random, scenario.mostDelayMillis(), scenario.hosts());
        this.coordinator = new Coordinator(scenario.limits(), 0);
        this.orders = orders;
        this.invariants = new SimulationInvariants(this);
        this.disturbances = new Disturbances(this);
        this.tally = tally;
        this.writes = writes;
    }

    /** Runs the job of a seed to its end. @param tally what has happened is counted there */
    static void run(long seed, SimulationTally tally) {
        run(seed, tally, UnaryOperator.identity());
    }

    /** @param orders makes other orders of the coordinator's, to see that the invariants find it */
    static void run(long seed, SimulationTally tally, UnaryOperator<List<ElasticOrder>> orders) {
        try {
            new SimulatedJob(seed, orders, tally, false).run();
        } catch (AssertionError e) {
            new SimulatedJob(seed, orders, new SimulationTally(), true).explain();
            throw e;
        }
    }

    /** Runs the same once more, with a history. */
    private void explain() {
        try {
            run();
        } catch (AssertionError e) {
            String last = String.join("\n", history.subList(Math.max(0, history.size() - LAST_LINES), history.size()));
            throw new AssertionError(e.getMessage() + "\n" + scenario + "\n" + last, e);
        }
    }

    private void run() {
        for (int worker = 0; worker < scenario.workers(); worker++) {
            start(worker < scenario.safeWorkers() || random.nextInt(10) > 0);
        }
        disturbances.plan();
        network.afterHealing(() -> generations.forEach(SimulatedGeneration::healed));
        tick();
        while (!coordinator.isOver()) {
            time.next();
            if (time.now() > LONGEST_MILLIS) {
                throw failure("the job never ends");
            }
        }
        workers.forEach(worker -> {
            tell(new Heard(worker.number()));
            tell(new Ended(worker.number(), "the job is over"));
        });
        tally.count("schedules");
    }

    private void tick() {
        tell(new Tick());
        if (!coordinator.isOver()) {
            invariants.look();
        }
        time.after(TICK_MILLIS, this::tick);
    }

    /** The launcher starts a worker. @param comes whether it joins */
    void start(boolean comes) {
        int number = workers.size();
        SimulatedWorker worker = new SimulatedWorker(this, number, scenario.hostOf(number));
        workers.add(worker);
        changed();
        if (scenario.announces()) {
            tell(new Started(number, worker.hostName()));
        }
        if (comes) {
            worker.later(50 + random.nextInt(2_000), worker::join);
        } else if (random.nextBoolean()) {
            worker.later(random.nextInt(4_000), () -> worker.end("it has not found its library"));
        }
    }

    void tell(ElasticEvent event) {
        boolean wasOver = coordinator.isOver();
        invariants.told(event);
        List<ElasticOrder> answer = orders.apply(coordinator.on(event, time.now()));
        if (wasOver && !answer.isEmpty()) {
            throw failure("after the end there are more orders: " + answer);
        }
        if (!(event instanceof Tick) && !(event instanceof Heard)) {
            write("  " + event);
        }
        for (ElasticOrder order : answer) {
            write("> " + order);
            invariants.ordered(order);
            carryOut(order);
        }
        if (event instanceof Ended ended && !invariants.wasReleased(ended.worker()) && scenario.replaces()) {
            time.after(200, this::replace);
        }
    }

    private void replace() {
        if (!coordinator.isOver() && workers.size() < 40) {
            tally.count("replacements");
            start(random.nextInt(10) > 0);
        }
    }

    private void carryOut(ElasticOrder order) {
        if (order instanceof Form form) {
            List<SimulatedWorker> members =
                    form.members().stream().map(workers::get).toList();
            SimulatedGeneration generation = new SimulatedGeneration(this, form.number(), members, form.root());
            generations.add(generation);
            members.forEach(member -> member.assign(generation));
            tally.count(form.number() == 0 ? "first generations" : "regroups");
            send(form.members(), form);
            disturbances.formed();
        } else if (order instanceof Interrupt interrupt) {
            send(interrupt.members(), interrupt);
        } else if (order instanceof Abandon abandon) {
            send(abandon.members(), abandon);
        } else if (order instanceof Release release) {
            send(List.of(release.worker()), release);
        }
    }

    private void send(List<Integer> receivers, ElasticOrder order) {
        receivers.forEach(worker -> workers.get(worker).receive(order));
    }

    /** A generation has lost a member. */
    void broke(SimulatedGeneration generation) {
        if (generation == latest()) {
            invariants.broke();
            disturbances.broke();
        }
    }

    void changed() {
        lastChange = time.now();
    }

    /** Since when nothing has happened to a worker or to the network, if all of them work. */
    long quietMillis() {
        boolean quiet = network.isWhole() && workers.stream().noneMatch(SimulatedWorker::isStopped);
        return quiet ? time.now() - lastChange : 0;
    }

    SimulatedGeneration latest() {
        return generations.isEmpty() ? null : generations.get(generations.size() - 1);
    }

    SimulatedGeneration generation(int number) {
        return generations.get(number);
    }

    List<SimulatedWorker> workers() {
        return workers;
    }

    VirtualTime time() {
        return time;
    }

    Random random() {
        return random;
    }

    Scenario scenario() {
        return scenario;
    }

    SimulatedNetwork network() {
        return network;
    }

    SimulationInvariants invariants() {
        return invariants;
    }

    SimulationTally tally() {
        return tally;
    }

    void write(String line) {
        if (writes) {
            history.add(time.now() + " " + line);
        }
    }

    AssertionError failure(String what) {
        return new AssertionError("seed " + seed + ", after " + time.now() + " ms: " + what);
    }
}
