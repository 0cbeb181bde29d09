package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A job without MPI behind a firewall that lets some ports through. */
@Timeout(400)
final class PortRangeIT {
    /** Enough for a few jobs at once; ports that other programs have are left out. */
    private static final int FIRST = 18_100;

    private static final int LAST = 18_199;
    private static final Pattern LISTENS = Pattern.compile("(rank \\d|horovodrun) listens at \\[([^]]*)]");

    @TempDir
    private Path folder;

    @Test
    void allListeningSocketsOfRanksAndLauncherHavePortsOfTheRange() {
        List<String> command = new ArrayList<>(Job.program(Horovodrun.class, "--gloo", "-np", "2"));
        command.addAll(Job.program(PortsProgram.class));

        Job job = Job.run(
                command,
                Map.of(
                        "HVD_PORT_RANGE",
                        FIRST + "-" + LAST,
                        "HVD_SHARED_MEMORY",
                        "0",
                        "HVD_THREADS_PER_RANK",
                        "1",
                        "XDG_CACHE_HOME",
                        folder.toString()));

        assertThat(job.exitCode()).as(job.output()).isZero();
        List<String> said = LISTENS.matcher(job.output())
                .results()
                .map(found -> found.group(1) + ":" + found.group(2))
                .toList();
        assertThat(said).as(job.output()).hasSize(4);
        for (String one : said) {
            String[] ports = one.substring(one.indexOf(':') + 1).split(", ");
            assertThat(ports)
                    .as(one)
                    .allSatisfy(port -> assertThat(Integer.parseInt(port)).isBetween(FIRST, LAST));
        }
    }
}
