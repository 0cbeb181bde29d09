package io.hvd.elastic;

import io.hvd.elastic.ElasticEvent.Ended;
import io.hvd.elastic.ElasticEvent.Heard;
import io.hvd.elastic.ElasticEvent.Joined;
import io.hvd.elastic.ElasticEvent.Leaving;
import io.hvd.elastic.ElasticEvent.Ready;
import io.hvd.elastic.ElasticOrder.Abandon;
import io.hvd.elastic.ElasticOrder.Form;
import io.hvd.elastic.ElasticOrder.Interrupt;
import io.hvd.elastic.ElasticOrder.Release;
import io.hvd.elastic.SimulatedNetwork.Link;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;

/** A process of an elastic job: what it does with the coordinator's orders, and how its training goes on meanwhile. */
final class SimulatedWorker {
    private static final int HEARTBEAT_MILLIS = 250;

    private enum Phase {
        STARTING,
        /** It has joined or left a generation, and waits for the next. */
        WAITING,
        COMPUTING,
        /** It takes part in a round, and waits for its end. */
        IN_ROUND
    }

    private final SimulatedJob job;
    private final int number;
    private final int host;
    private final Link up;
    private final Link down;
    /** On which the launcher sees the process end. */
    private final Link watch;

    private final Queue<Runnable> whileStopped = new ArrayDeque<>();
    private boolean alive = true;
    private boolean stopped;
    private boolean leaving;
    private boolean computesLong;
    private Phase phase = Phase.STARTING;
    private long shaken;
    private TrainedState state;

    /** The generation of which it is a member, though it may not know it yet. */
    private SimulatedGeneration assigned;

    private SimulatedGeneration generation;
    private long formed;
    private boolean asked;
    private boolean noticed;
    private final Set<Integer> unreachable = new TreeSet<>();

    SimulatedWorker(SimulatedJob job, int number, int host) {
        this.job = job;
        this.number = number;
        this.host = host;
        this.up = job.network().link(host, job.network().coordinator());
        this.down = job.network().link(job.network().coordinator(), host);
        this.watch = job.network().link(host, job.network().coordinator());
    }

    int number() {
        return number;
    }

    int host() {
        return host;
    }

    String hostName() {
        return "h" + host;
    }

    TrainedState state() {
        return state;
    }

    long step() {
        return state == null ? -1 : state.step();
    }

    boolean isDone() {
        return state != null && state.isDone(job.scenario().course());
    }

    boolean isAlive() {
        return alive;
    }

    boolean isStopped() {
        return alive && stopped;
    }

    boolean isLeaving() {
        return leaving;
    }

    boolean isWaiting() {
        return phase == Phase.WAITING;
    }

    /** Whether it was asked to leave at the end of a step. */
    boolean wantsToLeave() {
        return asked;
    }

    /** Whether it has long been running and connected, and known to the coordinator. */
    boolean isSteady(long millis) {
        return alive
                && !stopped
                && phase != Phase.STARTING
                && job.network().reaches(host, job.network().coordinator())
                && job.time().now() - shaken >= millis;
    }

    /** It stops or goes on, or its connection with the coordinator does. */
    void shake() {
        shaken = job.time().now();
        job.changed();
    }

    /** What the process does now, or when it goes on if it is stopped. */
    void act(Runnable action) {
        if (alive && stopped) {
            whileStopped.add(action);
        } else if (alive) {
            action.run();
        }
    }

    void later(long millis, Runnable action) {
        job.time().after(millis, () -> act(action));
    }

    void join() {
        shake();
        phase = Phase.WAITING;
        say(new Joined(number, hostName()));
        later(HEARTBEAT_MILLIS, this::beat);
    }

    private void say(ElasticEvent event) {
        up.send(() -> job.tell(event));
    }

    private void beat() {
        say(leaving ? new Leaving(number) : new Heard(number));
        if (generation != null && !job.network().isWhole()) {
            watchHosts();
        }
        later(HEARTBEAT_MILLIS, this::beat);
    }

    private void watchHosts() {
        for (SimulatedWorker other : generation.members()) {
            if (!job.network().reaches(host, other.host)) {
                long since = Math.max(formed, job.network().cutSince(host, other.host));
                if (job.time().now() - since >= job.scenario().detectMillis()) {
                    unreachable.add(other.number);
                }
            }
        }
        if (!unreachable.isEmpty()) {
            noticeIn(generation);
        }
    }

    /** The coordinator has made it a member, of which it will hear. */
    void assign(SimulatedGeneration next) {
        assigned = next;
        if (!alive) {
            next.broke(this);
        }
    }

    void receive(ElasticOrder order) {
        down.send(() -> act(() -> follow(order)));
    }

    private void follow(ElasticOrder order) {
        if (order instanceof Form form) {
            form(job.generation(form.number()));
        } else if (order instanceof Interrupt interrupt) {
            asked |= isIn(interrupt.generation());
        } else if (order instanceof Abandon abandon && isIn(abandon.generation())) {
            generation.giveUp(this);
            noticeIn(generation);
        } else if (order instanceof Release) {
            end("it was released");
        }
    }

    private boolean isIn(int number) {
        return generation != null && generation.number() == number;
    }

    private void form(SimulatedGeneration next) {
        generation = next;
        formed = job.time().now();
        asked = false;
        noticed = false;
        unreachable.clear();
        arrive();
        next.noticeEarlierEnds(this);
    }

    private void arrive() {
        phase = Phase.IN_ROUND;
        generation.arrive(this);
        if (noticed) {
            leaveAlone();
        }
    }

    /** The generation cannot go on, which is seen in a collective and not in a computation. */
    void noticeIn(SimulatedGeneration which) {
        if (generation == which) {
            noticed = true;
            if (phase == Phase.IN_ROUND && !generation.isUnderwayTo(this)) {
                leaveAlone();
            }
        }
    }

    void roundEnded(TrainedState result, boolean leave) {
        state = result;
        job.invariants().holds(this, generation.number());
        if (leave || isDone()) {
            SimulatedGeneration old = generation;
            ready();
            old.left(this);
        } else {
            compute();
        }
    }

    private void compute() {
        phase = Phase.COMPUTING;
        Scenario scenario = job.scenario();
        int more = 1 + scenario.longestStepMillis() - scenario.shortestStepMillis();
        int millis = scenario.shortestStepMillis() + job.random().nextInt(more);
        later(computesLong ? Scenario.LONG_COMPUTATION_MILLIS : millis, this::arrive);
        computesLong = false;
    }

    private void leaveAlone() {
        SimulatedGeneration old = generation;
        ready();
        old.broke(this);
    }

    private void ready() {
        say(new Ready(number, generation.number(), step(), isDone(), unreachable));
        generation = null;
        assigned = null;
        phase = Phase.WAITING;
    }

    void computeForLong() {
        computesLong = true;
    }

    void terminate() {
        job.changed();
        act(() -> {
            leaving = true;
            say(new Leaving(number));
        });
    }

    void stop() {
        shake();
        stopped = true;
    }

    void goOn() {
        shake();
        stopped = false;
        while (!whileStopped.isEmpty() && !stopped) {
            act(whileStopped.remove());
        }
    }

    void end(String why) {
        if (alive) {
            job.changed();
            alive = false;
            watch.send(() -> job.tell(new Ended(number, why)));
            generation = null;
            if (assigned != null) {
                assigned.broke(this);
            }
        }
    }

    /** The connection has ended for good, which the coordinator sees at once and the worker a little later. */
    void loseConnection() {
        up.breakOff();
        down.breakOff();
        job.tell(new Ended(number, "its connection has ended"));
        later(1 + job.random().nextInt(4_000), () -> end("it has no connection"));
    }
}
