package io.hvd.launch.direct;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class RankProcessTest {

    private static final PlannedRank ELSEWHERE = new PlannedRank(1, 2, "b", false, 0, 1, 1, 2);

    @Test
    void anOrderWaitsForNoSshThatReadsNothing() throws Exception {
        Process ssh = new ProcessBuilder("sleep", "600").start();
        var rank = new RankProcess(ELSEWHERE, ssh);

        rank.order(new byte[1 << 20]); // more than a pipe holds
        rank.order(RemoteRank.signal("TERM"));
        rank.endOrders();

        ssh.destroyForcibly().waitFor();
        assertThat(rank.started()).succeedsWithin(Duration.ofSeconds(30));
    }

    @Test
    void ordersArriveInTheirOrderAndThenEnd() throws Exception {
        Process ssh = new ProcessBuilder("cat").start();
        var rank = new RankProcess(ELSEWHERE, ssh);

        rank.order(RemoteRank.signal("USR1"));
        rank.order(RemoteRank.signal("TERM"));
        rank.endOrders();

        assertThat(ssh.inputReader().lines()).containsExactly("signal USR1", "signal TERM");
    }
}
