package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostsProgram;
import io.hvd.testing.Job;
import io.hvd.testing.NamespaceHosts;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Jobs on two hosts that have no IPv4 address, not even that of the loopback; they need root. */
@Tag("long")
@Timeout(180)
final class Ipv6HostsIT {

    @TempDir
    private static Path folder;

    private static NamespaceHosts hosts;

    @BeforeAll
    static void startTheHosts() {
        hosts = new NamespaceHosts(folder);
        hosts.startWithoutIpv4("node-a", "node-b");
    }

    @AfterAll
    static void stopTheHosts() {
        hosts.stop();
    }

    @Test
    void horovodrunReachesHostsThatAreNamedByTheirAddresses() {
        List<String> words =
                new ArrayList<>(Job.program(Horovodrun.class, "--gloo", "-p", NamespaceHosts.PORT, "-i", hosts.key()));
        words.addAll(List.of("-np", "4", "-H", "[fd71::1]:2,[fd71::2]:2"));
        words.addAll(Job.program(HostsProgram.class));

        Job job = Job.run(
                hosts.on("node-a", words),
                Map.of(
                        "XDG_CACHE_HOME", folder.resolve("cache").toString(),
                        "HVD_PORT_RANGE", "20000-20009",
                        "HVD_THREADS_PER_RANK", "1"));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("sum 10.0")).as(job.output()).hasSize(4);
        assertThat(job.lines(" cross 1 of 2")).hasSize(2);
        assertThat(job.lines("tcp (fd71:0:0:0:0:0:0:1")).hasSize(1);
    }

    @Test
    void ranksMeetAtAnAddressInBrackets() {
        List<CompletableFuture<Job>> ranks = new ArrayList<>();
        for (String host : List.of("node-a", "node-b")) {
            Map<String, String> environment = new HashMap<>(Map.of("HVD_RENDEZVOUS", "[fd71::1]:29500"));
            environment.put("HVD_BACKEND", "tcp");
            environment.put("RANK", String.valueOf(ranks.size()));
            environment.put("WORLD_SIZE", "2");
            List<String> words = hosts.on(host, Job.program(HostsProgram.class));
            ranks.add(CompletableFuture.supplyAsync(() -> Job.run(words, environment)));
        }
        for (CompletableFuture<Job> rank : ranks) {
            assertThat(rank.join().exitCode()).as(rank.join().output()).isZero();
            assertThat(rank.join().lines("sum 3.0")).hasSize(1);
        }
    }
}
