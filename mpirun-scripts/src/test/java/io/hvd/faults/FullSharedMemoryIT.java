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
        assertThat(output("16k")).contains("no shared memory (rank 0: ", "No space left on device");
    }

    @Test
    void whereThereIsLittleRoomTheStagesAreSmallerAndItIsSaid() {
        assertThat(output("2m"))
                .containsPattern("shared memory \\((256|128|64|32|16) KiB per rank, as more could not be had: rank 0: ")
                .contains("No space left on device");
    }

    @Test
    void theRoomThatContainersHaveIsEnough() {
        assertThat(output("64m")).contains("shared memory (512 KiB per rank) over mpi");
    }

    /** The output of a job that has ended well and left nothing there. */
    private static String output(String room) {
        List<String> rank = new ArrayList<>(Job.program(io.hvd.launch.Horovodrun.class, "-np", "2"));
        rank.addAll(Job.program(FaultyProgram.class, "none", "-1"));
        String job = rank.stream().map(word -> "'" + word + "'").collect(Collectors.joining(" "));
        String mount = "mount -t tmpfs -o size=" + room + " tmpfs /dev/shm";
        Job result = Job.run(
                List.of(
                        "unshare",
                        "--mount",
                        "sh",
                        "-c",
                        mount + " && " + job + "; echo EXIT $?; echo LEFT $(ls /dev/shm | wc -l)"),
                Map.of());

        assertThat(result.output()).contains("EXIT 0", "LEFT 0");
        return result.output();
    }
}
