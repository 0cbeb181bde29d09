package io.hvd.elastic;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;

/**
 * Hosts, and one more for the coordinator. A cut between two hosts delays what travels between them until it heals; nothing
 * is lost and nothing overtakes on one connection, as with TCP.
 */
final class SimulatedNetwork {
    /** One direction of a connection. */
    final class Link {
        private record Message(long at, Runnable arrival) {}

        private final int from;
        private final int to;
        private final Queue<Message> underway = new ArrayDeque<>();
        private long last;
        private boolean closed;

        private Link(int from, int to) {
            this.from = from;
            this.to = to;
        }

        void send(Runnable arrival) {
            if (!closed) {
                last = Math.max(last, time.now() + 1 + random.nextInt(mostDelayMillis));
                underway.add(new Message(last, arrival));
                time.after(last - time.now(), this::deliver);
            }
        }

        /** What is underway is lost. */
        void breakOff() {
            closed = true;
            underway.clear();
        }

        private void deliver() {
            while (!underway.isEmpty() && underway.peek().at() <= time.now() && reaches(from, to)) {
                underway.remove().arrival().run();
            }
        }
    }

    private final VirtualTime time;
    private final Random random;
    private final int mostDelayMillis;
    private final int hosts;
    private final int[][] cuts;
    private final long[][] cutSince;
    private final List<Link> links = new ArrayList<>();
    private final List<Runnable> healers = new ArrayList<>();
    private int active;

    SimulatedNetwork(VirtualTime time, Random random, int mostDelayMillis, int hosts) {
        this.time = time;
        this.random = random;
        this.mostDelayMillis = mostDelayMillis;
        this.hosts = hosts;
        this.cuts = new int[hosts + 1][hosts + 1];
        this.cutSince = new long[hosts + 1][hosts + 1];
    }

    int coordinator() {
        return hosts;
    }

    Link link(int from, int to) {
        Link link = new Link(from, to);
        links.add(link);
        return link;
    }

    boolean reaches(int from, int to) {
        return cuts[from][to] == 0;
    }

    boolean isWhole() {
        return active == 0;
    }

    /** Since when nothing travels between two hosts between which there is a cut. */
    long cutSince(int from, int to) {
        return cutSince[from][to];
    }

    boolean wasEverCut(int from, int to) {
        return cutSince[from][to] > 0;
    }

    /** Whether a host does not reach another one or the coordinator. */
    boolean isCut(int host) {
        for (int other = 0; active > 0 && other <= hosts; other++) {
            if (!reaches(host, other)) {
                return true;
            }
        }
        return false;
    }

    void cut(int one, int other) {
        change(one, other, 1);
    }

    void heal(int one, int other) {
        change(one, other, -1);
        time.after(1 + random.nextInt(200), () -> {
            for (Link link : List.copyOf(links)) {
                link.deliver();
            }
            healers.forEach(Runnable::run);
        });
    }

    void afterHealing(Runnable action) {
        healers.add(action);
    }

    private void change(int one, int other, int by) {
        if (cuts[one][other] == 0) {
            cutSince[one][other] = time.now();
            cutSince[other][one] = time.now();
        }
        cuts[one][other] += by;
        cuts[other][one] += by;
        active += by;
    }
}
