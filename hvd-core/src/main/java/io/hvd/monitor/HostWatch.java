package io.hvd.monitor;

import io.hvd.monitor.peers.Peers;
import io.hvd.monitor.view.RankProcess;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * Checks whether the other hosts can still be reached, more patiently than mpirun, which has to end the job. A broken
 * network is not reported: connections stay open, and a reader waits. If no rank of a host gives a sign of life, this
 * class connects to the host, which is lost if it does not answer.
 */
final class HostWatch {
    private static final long PERIOD_MILLIS = 500;
    /** The silence after which a host is called; signs of life come every second at the latest. */
    static final long SILENT_MILLIS = 3_000;
    /** The kernel repeats a call that is not answered after a second. */
    private static final Duration CALL_LIMIT = Duration.ofSeconds(2);

    private final Peers peers;
    private final CountDownLatch end;
    private final BiConsumer<String, List<Integer>> onLoss;
    private final Set<String> lost = new HashSet<>();

    private HostWatch(Peers peers, CountDownLatch end, BiConsumer<String, List<Integer>> onLoss) {
        this.peers = peers;
        this.end = end;
        this.onLoss = onLoss;
    }

    /**
     * @param end the watch goes on until it is counted down
     * @param onLoss told a host and its ranks, once, on the watch's own thread
     */
    static void start(Peers peers, CountDownLatch end, BiConsumer<String, List<Integer>> onLoss) {
        if (peers.members().stream().map(RankProcess::host).distinct().count() > 1) {
            Thread thread = new Thread(new HostWatch(peers, end, onLoss)::watch, "hvd-host-watch-" + peers.self());
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** Hosts all of whose ranks that were ever heard have been silent for long, with all their ranks. */
    static Map<String, List<Integer>> silent(int self, List<RankProcess> members, Map<Integer, Long> heardMillisAgo) {
        Map<String, List<Integer>> hosts = new TreeMap<>();
        String own = members.get(self).host();
        members.stream()
                .map(RankProcess::host)
                .filter(host -> !host.equals(own))
                .forEach(host -> {
                    List<Integer> ranks = members.stream()
                            .filter(member -> member.host().equals(host))
                            .map(RankProcess::rank)
                            .toList();
                    List<Long> signs = ranks.stream()
                            .filter(heardMillisAgo::containsKey)
                            .map(heardMillisAgo::get)
                            .toList();
                    if (!signs.isEmpty() && signs.stream().allMatch(ago -> ago >= SILENT_MILLIS)) {
                        hosts.put(host, ranks);
                    }
                });
        return hosts;
    }

    private void watch() {
        try {
            while (!end.await(PERIOD_MILLIS, TimeUnit.MILLISECONDS)) {
                look();
            }
        } catch (InterruptedException e) {
            // Only the end of the JVM interrupts this thread.
        }
    }

    private void look() {
        Map<Integer, Long> ago = new TreeMap<>();
        peers.heard().forEach((rank, sign) -> ago.put(rank, sign.agoMillis()));
        silent(peers.self(), peers.members(), ago).forEach((host, ranks) -> {
            if (!lost.contains(host) && !peers.reaches(ranks.get(0), CALL_LIMIT) && end.getCount() > 0) {
                lost.add(host);
                onLoss.accept(host, ranks);
            }
        });
    }
}
