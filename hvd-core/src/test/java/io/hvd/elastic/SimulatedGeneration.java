package io.hvd.elastic;

import io.hvd.elastic.TrainedState.Share;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/**
 * The collectives of one generation: first the root's state for everybody, then one round for each step. A round ends only
 * if all members take part in it, and it reaches each of them at a time of its own. If one dies in the meantime, then some
 * have it and others do not; nobody can be two rounds ahead.
 */
final class SimulatedGeneration {
    private static final int LONGEST_SYNC_MILLIS = 400;
    private static final int LONGEST_ROUND_MILLIS = 8;
    private static final int LONGEST_DELIVERY_MILLIS = 30;
    private static final int LONGEST_NOTICE_MILLIS = 150;

    private final SimulatedJob job;
    private final int number;
    private final List<SimulatedWorker> members;
    private final int root;
    private final Set<SimulatedWorker> arrived = new HashSet<>();
    private final Map<SimulatedWorker, Runnable> underway = new HashMap<>();
    private final List<SimulatedWorker> gone = new ArrayList<>();
    private int round;
    private boolean incomplete;
    private boolean stalled;

    SimulatedGeneration(SimulatedJob job, int number, List<SimulatedWorker> members, int root) {
        this.job = job;
        this.number = number;
        this.members = members;
        this.root = root;
    }

    int number() {
        return number;
    }

    List<SimulatedWorker> members() {
        return members;
    }

    SimulatedWorker root() {
        return members.get(root);
    }

    void arrive(SimulatedWorker worker) {
        arrived.add(worker);
        if (arrived.size() == members.size() && !incomplete) {
            int here = round;
            int longest = round == 0 ? LONGEST_SYNC_MILLIS : LONGEST_ROUND_MILLIS;
            job.time().after(1 + random().nextInt(longest), () -> endRound(here));
        }
    }

    private Random random() {
        return job.random();
    }

    private void endRound(int which) {
        if (which != round || incomplete) {
            return;
        }
        stalled = !isConnected();
        if (!stalled) {
            deliver(round == 0 ? sync() : step());
        }
    }

    /** A round that waited for a connection goes on. */
    void healed() {
        if (stalled) {
            endRound(round);
        }
    }

    private boolean isConnected() {
        return job.network().isWhole()
                || members.stream()
                        .allMatch(one ->
                                members.stream().allMatch(other -> job.network().reaches(one.host(), other.host())));
    }

    private Result sync() {
        TrainedState state = root().state();
        job.invariants().synced(this, state);
        return new Result(state == null ? job.scenario().course().beginning() : state, false);
    }

    private Result step() {
        job.invariants().stepped(this);
        List<Share> shares = new ArrayList<>();
        for (int rank = 0; rank < members.size(); rank++) {
            shares.add(members.get(rank).state().share(job.scenario().course(), rank, members.size()));
        }
        TrainedState state = members.get(0).state().after(job.scenario().course(), number, shares);
        return new Result(state, members.stream().anyMatch(SimulatedWorker::wantsToLeave));
    }

    /** What a round gives each member. @param leave whether one of them had been asked to leave, as all learn in it */
    private record Result(TrainedState state, boolean leave) {}

    private void deliver(Result result) {
        arrived.clear();
        round++;
        for (SimulatedWorker member : members) {
            underway.put(member, () -> member.roundEnded(result.state(), result.leave()));
            job.time().after(random().nextInt(LONGEST_DELIVERY_MILLIS), () -> member.act(() -> receive(member)));
        }
    }

    private void receive(SimulatedWorker member) {
        Runnable ending = underway.remove(member);
        if (ending != null) {
            ending.run();
        }
    }

    /** Whether a round has ended of which this member will hear. */
    boolean isUnderwayTo(SimulatedWorker member) {
        return underway.containsKey(member);
    }

    /** The member has given up, and hears no more of the round. */
    void giveUp(SimulatedWorker member) {
        underway.remove(member);
    }

    /** A member has left together with all others, at the end of a step. */
    void left(SimulatedWorker member) {
        incomplete = true;
        underway.remove(member);
        job.broke(this);
    }

    /** A member has ended, or has left without the others. */
    void broke(SimulatedWorker member) {
        left(member);
        gone.add(member);
        for (SimulatedWorker other : members) {
            if (random().nextBoolean()) {
                underway.remove(other); // it has not received all of it
            }
            notice(member, other);
        }
    }

    /** A member that begins late finds out that others are not there any more. */
    void noticeEarlierEnds(SimulatedWorker member) {
        gone.forEach(other -> notice(other, member));
    }

    private void notice(SimulatedWorker gone, SimulatedWorker other) {
        if (job.scenario().peersNotice()) {
            job.time().after(1 + random().nextInt(LONGEST_NOTICE_MILLIS), () -> {
                if (job.network().reaches(gone.host(), other.host())) {
                    other.act(() -> other.noticeIn(this));
                }
            });
        }
    }
}
