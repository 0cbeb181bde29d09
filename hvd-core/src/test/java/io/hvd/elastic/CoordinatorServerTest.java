package io.hvd.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.net.Encryption;
import io.hvd.net.HandshakeListener;
import io.hvd.net.LauncherAddress;
import io.hvd.net.PortRange;
import io.hvd.net.ServerSockets;
import io.hvd.rendezvous.Meeting;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A launcher tells the coordinator how the process of a worker has ended, before or after the worker's last message. */
@Timeout(60)
final class CoordinatorServerTest {
    private static final byte[] SECRET = HandshakeListener.newSecret();
    private static final int LIMIT_MILLIS = 20_000;
    private static final int WORKER = 3;

    private final CompletableFuture<String> end = new CompletableFuture<>();

    private final CoordinatorServer.Events events = new CoordinatorServer.Events() {
        @Override
        public void say(String sentence) {}

        @Override
        public void begun(int generation, List<Integer> workers) {}

        @Override
        public void refused(int worker, String why) {}

        @Override
        public void finished(String failure) {
            end.complete(failure);
        }
    };

    /** What a job of one worker ends with. */
    private String failure(Course course) throws Exception {
        List<InetAddress> here = List.of(InetAddress.getLoopbackAddress());
        var limits = new ElasticLimits(1, 1, 1, LIMIT_MILLIS, LIMIT_MILLIS, 0);
        CoordinatorServer.Meetings meetings =
                hosts -> Meeting.at(here, PortRange.ANY, Encryption.NONE, Duration.ofSeconds(5), hosts);
        return ServerSockets.listen(here, PortRange.ANY, sockets -> {
            var at = (InetSocketAddress) sockets.get(0).getLocalAddress();
            var address = new LauncherAddress(HexFormat.of().formatHex(SECRET), List.of(at));
            try (CoordinatorServer server =
                            CoordinatorServer.start(sockets, SECRET, Encryption.NONE, limits, meetings, events);
                    CoordinatorLink link = CoordinatorLink.join(
                            address, OptionalInt.of(WORKER), "a", Encryption.NONE, Duration.ofSeconds(10))) {
                link.await();
                course.run(server, link);
                return end.join();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        });
    }

    /** The end of a worker. */
    private interface Course {
        void run(CoordinatorServer server, CoordinatorLink link) throws InterruptedException;
    }

    @Test
    void aReasonThatComesBehindTheEndOfItsProcessCountsMoreThanTheExitCode() throws Exception {
        assertThat(failure((server, link) -> {
                    Thread launcher = new Thread(() -> server.ended(WORKER, "exit code 1"));
                    launcher.start();
                    while (launcher.getState() != Thread.State.TIMED_WAITING) {
                        Thread.sleep(1);
                    }
                    link.failed("the disk is full");
                    link.close();
                    launcher.join();
                }))
                .contains("is lost: the disk is full")
                .doesNotContain("exit code");
    }

    @Test
    void whoLeavesWithoutAWordIsLostByItsExitCode() throws Exception {
        assertThat(failure((server, link) -> {
                    Thread launcher = new Thread(() -> server.ended(WORKER, "exit code 1"));
                    launcher.start();
                    while (launcher.getState() != Thread.State.TIMED_WAITING) {
                        Thread.sleep(1);
                    }
                    link.close();
                }))
                .contains("is lost: exit code 1");
    }

    /** As where a cable is pulled. */
    @Test
    void aConnectionThatDoesNotEndIsNotWaitedForVeryLong() throws Exception {
        assertThat(failure((server, link) -> server.ended(WORKER, "exit code 137")))
                .contains("is lost: exit code 137");
    }
}
