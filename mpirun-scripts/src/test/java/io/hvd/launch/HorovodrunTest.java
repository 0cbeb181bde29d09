package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** With a script in the place of mpirun; {@link HorovodrunIT} has the real one. */
@Timeout(60)
final class HorovodrunTest {

    @TempDir
    private Path folder;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @Test
    void underAnOldOpenMpiNothingIsStartedAndTheReasonIsSaid() throws Exception {
        assertThat(under("3.1.3", "--mpi", "-np", "1", "true")).isEqualTo(2);

        assertThat(err.toString(StandardCharsets.UTF_8))
                .contains("mpi-cannot-run-hvd", "Open MPI 3.1.3", "hang on 3.1.3", "4.1 or 5.0");
        assertThat(folder.resolve("started")).doesNotExist();
    }

    @Test
    void itsDryRunSaysThatNothingIsStarted() throws Exception {
        assertThat(under("3.1.3", "--mpi", "-np", "1", "--dry-run", "true")).isZero();

        assertThat(out.toString(StandardCharsets.UTF_8)).contains("mpirun ", " -np 1 ");
        assertThat(err.toString(StandardCharsets.UTF_8))
                .contains("nothing is started under Open MPI 3.1.3", "hang on 3.1.3");
    }

    @Test
    void underAnOpenMpiThatNobodyHasTriedTheJobRunsAndTheDoubtIsSaid() throws Exception {
        assertThat(under("4.0.7", "-np", "1", "true")).isZero();
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("not with Open MPI 4.0.7");
        assertThat(folder.resolve("started")).exists();

        err.reset();
        assertThat(under("4.0.7", "-np", "1", "--dry-run", "true")).isZero();
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("not with Open MPI 4.0.7");
    }

    @Test
    void moreRanksThanThisMachineCanBeMeantToHoldAreRefusedBeforeAnythingIsStarted() throws Exception {
        for (String also : new String[] {"--verbose", "--dry-run"}) {
            assertThat(under("4.1.4", "-np", "1000000", also, "true")).isEqualTo(2);

            assertThat(err.toString(StandardCharsets.UTF_8))
                    .contains("np-exceeds-slots", "1000000 ranks", "-H localhost:1000000");
            assertThat(folder.resolve("started")).doesNotExist();
        }
    }

    @Test
    void aRangeWithoutAFreePortEndsTheStartWithASentence() throws Exception {
        try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String range = taken.getLocalPort() + "-" + taken.getLocalPort();

            assertThat(with(Map.of("HVD_PORT_RANGE", range), "--gloo", "-np", "1", "touch", folder + "/started"))
                    .isEqualTo(2);

            assertThat(err.toString(StandardCharsets.UTF_8))
                    .startsWith("horovodrun: the job could not be run: ")
                    .contains("no port of HVD_PORT_RANGE=" + range + " is free")
                    .doesNotContain("\tat ");
            assertThat(folder.resolve("started")).doesNotExist();
        }
    }

    private int under(String version, String... args) throws IOException, InterruptedException {
        Path mpirun = Files.writeString(
                folder.resolve("mpirun"),
                "#!/bin/sh\n[ \"$1\" = --version ] && echo 'mpirun (Open MPI) " + version + "' && exit\n: >" + folder
                        + "/started\n");
        Files.setPosixFilePermissions(mpirun, PosixFilePermissions.fromString("rwx------"));
        return with(Map.of(), args);
    }

    private int with(Map<String, String> more, String... args) throws IOException, InterruptedException {
        Map<String, String> environment = new HashMap<>(more);
        environment.put("PATH", folder + ":" + System.getenv("PATH"));
        environment.put("HOME", folder.toString());
        return new Horovodrun(
                        environment,
                        new PrintStream(out, true, StandardCharsets.UTF_8),
                        new PrintStream(err, true, StandardCharsets.UTF_8))
                .run(args);
    }
}
