package io.hvd.monitor;

import io.hvd.monitor.view.ProcessStat;
import io.hvd.monitor.view.ProcessState;
import io.hvd.monitor.view.RankProcess;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * Checks regularly whether the processes of this host's other ranks still run. A thread inside MPI does not learn when
 * one of them ends.
 */
final class DeathWatch {
    /** The time between two looks, each of which takes tens of microseconds for each process. */
    private static final long PERIOD_MILLIS = 100;
    /**
     * The most processes that a rank watches. On a host with many ranks some of them notice a death, and wake the
     * launcher for all.
     */
    private static final int MOST_WATCHED = 8;

    private DeathWatch() {}

    /**
     * @param end the watch goes on until it is counted down, or until a process has ended
     * @param onDeath called once, on the watch's own thread, with the ranks whose processes have ended
     */
    static void start(int self, List<RankProcess> members, CountDownLatch end, Consumer<List<Integer>> onDeath) {
        List<RankProcess> watched = watched(self, members);
        if (!watched.isEmpty()) {
            Thread thread = new Thread(() -> watch(watched, end, onDeath), "hvd-death-watch-" + self);
            thread.setDaemon(true);
            thread.start();
        }
    }

    /**
     * The ranks after this one on this host, in a ring, whose processes can be seen from here. A process that has
     * already ended is among them, unless it may only be hidden.
     */
    private static List<RankProcess> watched(int self, List<RankProcess> members) {
        RankProcess own = members.get(self);
        boolean nothingIsHidden = ProcessStat.showsEverything();
        return IntStream.range(1, members.size())
                .mapToObj(step -> members.get((self + step) % members.size()))
                .filter(member -> member.isVisibleTo(own) && member.pid() != own.pid())
                .filter(member -> nothingIsHidden || !isDead(member))
                .limit(MOST_WATCHED)
                .toList();
    }

    private static void watch(List<RankProcess> watched, CountDownLatch end, Consumer<List<Integer>> onDeath) {
        try {
            while (!end.await(PERIOD_MILLIS, TimeUnit.MILLISECONDS)) {
                List<Integer> dead = watched.stream()
                        .filter(DeathWatch::isDead)
                        .map(RankProcess::rank)
                        .toList();
                if (!dead.isEmpty()) {
                    onDeath.accept(dead);
                    return;
                }
            }
        } catch (InterruptedException e) {
            // Only the end of the JVM interrupts this thread.
        }
    }

    private static boolean isDead(RankProcess member) {
        ProcessState state = ProcessState.of(member);
        return state == ProcessState.GONE || state == ProcessState.ZOMBIE;
    }
}
