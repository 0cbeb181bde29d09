package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Containers give /dev/shm little room: then Open MPI takes other ways, and the job runs. Needs a mount
 * namespace of its own, and so root; that is why it is in the long tier.
 */
@Tag("long")
class FullSharedMemoryIT {
    @Test
    void aJobRunsWithSixteenKilobytesOfSharedMemoryAndLeavesNothingInIt() {
        List<String> rank = new ArrayList<>(Job.program(io.hvd.launch.Horovodrun.class, "-np", "2"));
        rank.addAll(Job.program(FaultyProgram.class, "none", "-1"));
        String job = rank.stream().map(word -> "'" + word + "'").collect(Collectors.joining(" "));
        Job result = Job.run(
                List.of(
                        "unshare",
                        "--mount",
                        "sh",
                        "-c",
                        "mount -t tmpfs -o size=16k tmpfs /dev/shm && " + job + "; echo EXIT $?; ls /dev/shm | wc -l"),
                Map.of());

        assertThat(result.output()).contains("EXIT 0");
        assertThat(result.lines("0").get(result.lines("0").size() - 1)).isEqualTo("0");
    }
}
