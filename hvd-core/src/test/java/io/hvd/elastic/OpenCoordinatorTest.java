package io.hvd.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.elastic.CoordinatorLink.Membership;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.net.Encryption;
import io.hvd.net.HandshakeListener;
import io.hvd.net.LauncherAddress;
import io.hvd.net.PortRange;
import io.hvd.net.ServerSockets;
import io.hvd.testing.FreePorts;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Workers, which are links in this process, come to a coordinator and go. */
@Timeout(60)
final class OpenCoordinatorTest {
    private static final byte[] SECRET = HandshakeListener.newSecret();
    private static final int LIMIT_MILLIS = 20_000;

    private final Queue<String> said = new ConcurrentLinkedQueue<>();

    private OpenCoordinator coordinator(int atLeast, int atMost, int limitMillis) throws IOException {
        return coordinator(atLeast, atMost, limitMillis, PortRange.ANY);
    }

    private OpenCoordinator coordinator(int atLeast, int atMost, int limitMillis, PortRange ports) throws IOException {
        var limits = new ElasticLimits(atLeast, atMost, atLeast, limitMillis, limitMillis, Integer.MAX_VALUE);
        var terms = new OpenCoordinator.Terms(0, SECRET, limits, Duration.ofSeconds(5), "", ports, Encryption.NONE);
        return OpenCoordinator.start(terms, said::add);
    }

    private static CoordinatorLink worker(int port, String host, byte[] secret, Duration limit) {
        var address = new LauncherAddress(
                HexFormat.of().formatHex(secret), List.of(InetSocketAddress.createUnresolved("localhost", port)));
        return CoordinatorLink.join(address, OptionalInt.empty(), host, Encryption.NONE, limit);
    }

    private static CoordinatorLink worker(OpenCoordinator coordinator, String host) {
        return worker(coordinator.port(), host, SECRET, Duration.ofSeconds(10));
    }

    private static Membership member(CoordinatorLink worker) throws InterruptedException {
        return worker.await().orElseThrow();
    }

    @Test
    void whoComesGetsANumberAndWhoComesForALostOneItsRank() throws Exception {
        try (OpenCoordinator coordinator = coordinator(2, 2, LIMIT_MILLIS);
                CoordinatorLink first = worker(coordinator, "a")) {
            CoordinatorLink second = worker(coordinator, "b");
            int rank = member(first).rank();
            List<Integer> workers = List.of(rank, 1 - rank);
            assertThat(member(second).hosts()).containsExactlyInAnyOrder("a", "b");

            second.close();
            first.ready(0, 7, false, Set.of());
            try (CoordinatorLink third = worker(coordinator, "b")) {
                assertThat(member(third))
                        .returns(1 - rank, Membership::rank)
                        .returns(rank, Membership::root)
                        .returns(rank == 0 ? List.of(0, 2) : List.of(2, 1), Membership::workers);

                assertThat(member(first).number()).isEqualTo(1);
                first.ready(1, 9, true, Set.of());
                third.ready(1, 9, true, Set.of());
                assertThat(first.await()).isEmpty();
                assertThat(third.await()).isEmpty();
            }
            first.close();
            assertThat(coordinator.await()).isEmpty();
            assertThat(said)
                    .contains(
                            "worker 2 on b has come",
                            "generation 0 begins with 2 ranks, of workers [0, 1]",
                            "rank " + workers.get(1) + " (worker " + workers.get(1)
                                    + " on b) is lost: its connection has ended");
        }
    }

    @Test
    void whoAsksToLeaveIsLetGoAndTheUserIsTold() throws Exception {
        try (OpenCoordinator coordinator = coordinator(2, 2, LIMIT_MILLIS);
                CoordinatorLink only = worker(coordinator, "a")) {
            only.leave();

            assertThat(only.await()).isEmpty();
            assertThat(said).containsExactly("worker 0 on a has come", "worker 0 on a leaves, as it has asked for");
        }
    }

    @Test
    void tooFewWaitToTheLimitAndAreToldWhy() throws Exception {
        try (OpenCoordinator coordinator = coordinator(2, 2, 1_000);
                CoordinatorLink only = worker(coordinator, "a")) {
            String why = "only 1 of at least 2 ranks (--min-np) are there after 1 s";

            assertThatThrownBy(only::await)
                    .isInstanceOf(ShutdownException.class)
                    .hasMessageContainingAll("a worker on a leaves the elastic job", why);
            try (CoordinatorLink late = worker(coordinator, "b")) {
                assertThatThrownBy(late::await).hasMessageContaining(why);
            }
            only.close();
            assertThat(coordinator.await()).startsWith(why);
            assertThat(coordinator.end()).contains(coordinator.await());
        }
    }

    @Test
    void withoutTheCoordinatorNoWorkerGoesOn() throws Exception {
        OpenCoordinator coordinator = coordinator(1, 1, LIMIT_MILLIS);
        try (CoordinatorLink member = worker(coordinator, "a")) {
            Queue<String> givenUp = new ConcurrentLinkedQueue<>();
            member.entered(member(member).number(), givenUp::add);

            coordinator.close();

            assertThatThrownBy(member::await).hasMessageContainingAll("worker 0 (a)", "the coordinator has gone");
            assertThat(givenUp).hasSize(1);
        }
    }

    @Test
    void itListensAtThePortOfItsRangeThatIsFreeAtAllAddresses() throws Exception {
        InetAddress outward = ServerSockets.addresses("").get(0);
        int first = FreePorts.inARow(2);
        try (ServerSocket taken = new ServerSocket(first, 1, outward)) {
            assertThat(taken.isBound()).isTrue();
            try (OpenCoordinator coordinator = coordinator(1, 1, LIMIT_MILLIS, new PortRange(first, first + 20))) {
                assertThat(coordinator.port()).isBetween(first + 1, first + 20);
            }
        }
    }

    @Test
    void withAnotherSecretNobodyComesIn() throws Exception {
        try (OpenCoordinator coordinator = coordinator(1, 1, LIMIT_MILLIS)) {
            assertThatThrownBy(() ->
                            worker(coordinator.port(), "a", HandshakeListener.newSecret(), Duration.ofMillis(300)))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll(
                            "a worker on a does not reach the coordinator of its elastic job at localhost:"
                                    + coordinator.port(),
                            "HVD_SECRET",
                            "HOROVOD_START_TIMEOUT");
            assertThat(said).isEmpty();
        }
    }
}
