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
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Jobs whose connections are encrypted; their keys are renewed after a megabyte, which would otherwise take 128 GiB. */
@Timeout(400)
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

    /** Rank 0 listens all the time in which rank 1 calls. The pairs wait for limits, so both run at once. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    @Execution(ExecutionMode.CONCURRENT)
    void aRankWithoutItIsToldApartAtBothEnds(int without) throws Exception {
        int port = FreePorts.one();
        StartedRank zero = StartedRank.of(folder, ofTwo(0, port, "20", without));
        zero.says("ranks [1] of 2 have not come to the rendezvous yet");
        StartedRank one = StartedRank.of(folder, ofTwo(1, port, "5", without));

        String own = without == 0
                ? "a process came with encryption, perhaps of this job, and here HVD_TLS is 0"
                : "a process, perhaps of this job, came without the encryption that HVD_TLS=1 asks for here";
        assertThat(one.endsWith(1)).contains("rank 1", "or has another HVD_TLS");
        assertThat(zero.endsWith(1)).contains("ranks [1] of 2 have not come", "within 20 s", own);
    }

    private static Map<String, String> ofTwo(int rank, int port, String limitSeconds, int without) {
        Map<String, String> environment = encrypted();
        environment.put("HVD_TLS", rank == without ? "0" : "1");
        environment.put("HVD_BACKEND", "tcp");
        environment.put("HVD_RENDEZVOUS", "127.0.0.1:" + port);
        environment.put("HOROVOD_START_TIMEOUT", limitSeconds);
        environment.put("RANK", String.valueOf(rank));
        environment.put("WORLD_SIZE", "2");
        return environment;
    }

    /** The limit of the start is longer than that of the job, so it is not waited for. */
    @Test
    void aRankWithoutAKeyEndsAtOnce() {
        Map<String, String> environment = encrypted();
        environment.remove("JDK_JAVA_OPTIONS");
        environment.put("HOROVOD_START_TIMEOUT", "1000");
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
