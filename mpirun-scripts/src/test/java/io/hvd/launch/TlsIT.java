package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.FreePorts;
import io.hvd.testing.HostsProgram;
import io.hvd.testing.Job;
import io.hvd.testing.TlsKeys;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Jobs whose connections are encrypted; their keys are renewed after a megabyte, which would otherwise take 128 GiB. */
@Timeout(180)
final class TlsIT {

    @TempDir
    private static Path folder;

    private static String keys;

    @BeforeAll
    static void makeKeys() throws Exception {
        Path often = Files.writeString(
                folder.resolve("often"),
                "jdk.tls.keyLimits=AES/GCM/NoPadding KeyUpdate 2^20, ChaCha20-Poly1305 KeyUpdate 2^20");
        keys = TlsKeys.make(folder, "job").options("-Djava.security.properties=" + often);
    }

    private static Map<String, String> encrypted() {
        Map<String, String> environment = new HashMap<>();
        environment.put("HVD_TLS", "1");
        environment.put("JDK_JAVA_OPTIONS", keys);
        environment.put("HVD_SHARED_MEMORY", "0");
        environment.put("HVD_THREADS_PER_RANK", "1");
        return environment;
    }

    @ParameterizedTest
    @ValueSource(strings = {"--gloo", "--mpi"})
    void threeRanksComputeTogether(String how) {
        List<String> words = new ArrayList<>(Job.program(Horovodrun.class, how, "-np", "3"));
        words.addAll(Job.program(TlsProgram.class));

        Job job = Job.run(words, encrypted());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("all right")).as(job.output()).hasSize(3);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aRankWithoutItIsToldApartAtBothEnds(int without) throws Exception {
        int port = FreePorts.one();
        List<CompletableFuture<Job>> ranks = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            Map<String, String> environment = encrypted();
            environment.put("HVD_TLS", rank == without ? "0" : "1");
            environment.put("HVD_BACKEND", "tcp");
            environment.put("HVD_RENDEZVOUS", "127.0.0.1:" + port);
            environment.put("HOROVOD_START_TIMEOUT", "5");
            environment.put("RANK", String.valueOf(rank));
            environment.put("WORLD_SIZE", "2");
            ranks.add(CompletableFuture.supplyAsync(() -> Job.run(Job.program(HostsProgram.class), environment)));
        }
        String own = without == 0
                ? "a process came with encryption, perhaps of this job, and here HVD_TLS is 0"
                : "a process, perhaps of this job, came without the encryption that HVD_TLS=1 asks for here";
        assertThat(ranks.get(0).join().output()).contains("ranks [1] of 2 have not come", "within 5 s", own);
        assertThat(ranks.get(1).join().output()).contains("rank 1", "or has another HVD_TLS");
        for (CompletableFuture<Job> rank : ranks) {
            assertThat(rank.join().exitCode()).isNotZero();
        }
    }

    /** The limit of the start is the usual one, which it does not wait for. */
    @Test
    @Timeout(20)
    void aRankWithoutAKeyEndsAtOnce() {
        Map<String, String> environment = encrypted();
        environment.remove("JDK_JAVA_OPTIONS");
        environment.putAll(Map.of(
                "HVD_BACKEND", "tcp", "HVD_RENDEZVOUS", "127.0.0.1:1", "HOROVOD_RANK", "1", "HOROVOD_SIZE", "2"));

        Job job = Job.run(Job.program(HostsProgram.class), environment);

        assertThat(job.exitCode()).isNotZero();
        assertThat(job.output()).contains("HVD-103", "javax.net.ssl.keyStore");
    }

    @Test
    void withoutAKeyTheLauncherStartsNothing() {
        Map<String, String> environment = encrypted();
        environment.remove("JDK_JAVA_OPTIONS");
        List<String> words = new ArrayList<>(Job.program(Horovodrun.class, "--gloo", "-np", "2"));
        words.addAll(Job.program(HostsProgram.class));

        Job job = Job.run(words, environment);

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.output()).contains("HVD_TLS", "javax.net.ssl.keyStore", "No available authentication scheme");
    }
}
