package io.hvd.launch.line;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.hosts.HostSource;
import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.options.LaunchOptions;
import io.hvd.launch.words.Argument;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class JobFactsTest {

    private static final MpiVersion V4 =
            MpiVersion.parse("mpirun (Open MPI) 4.1.4").orElseThrow();

    @TempDir
    private Path folder;

    private JobFacts job(Map<String, String> environment, String... words) {
        var machine = new MachineFacts(
                "here",
                2,
                1000,
                false,
                Optional.empty(),
                OptionalLong.of(1L << 30),
                Set.of("here"),
                Set.of("lo"),
                environment);
        return new JobFacts(LaunchOptions.parse(environment, words), machine, V4);
    }

    /** All parts of mpirun's line ask for the hosts, and a start is not to read a file for each of them. */
    @Test
    void aFileOfHostsIsReadOnceForAllThatAskForThem() throws IOException {
        Path file = Files.writeString(folder.resolve("hosts"), "here slots=1\nb slots=3\n");
        JobFacts job = job(Map.of("OMPI_MCA_orte_default_hostfile", file.toString()), "-np", "3", "true");
        Files.delete(file);

        JobFacts asked = job.with(Map.of("b", Set.of("ens3")));

        assertThat(asked.hostSource().map(HostSource::hosts))
                .contains(List.of(new HostSlots("here", 1), new HostSlots("b", 3)));
        assertThat(asked.ranksHere()).isEqualTo(1);
        assertThat(asked.declared().orElseThrow()).startsWith("3 1 ");
        assertThat(asked.interfaces()).containsExactly("ens3", "lo");
        assertThat(asked.choices()).isSameAs(job.choices());
        assertThat(MpirunLine.of("mpirun", asked, Argument.note(""), Optional.empty())
                        .explained())
                .contains("hosts: mpirun takes those of OMPI_MCA_orte_default_hostfile=" + file);
    }
}
