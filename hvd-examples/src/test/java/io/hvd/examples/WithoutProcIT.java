package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.testing.FreePorts;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Training where nothing is there that Linux alone has: /proc, /sys and /dev/shm are empty, and nothing can be written there. They
 * are covered in a namespace of its own: as root, or where the system lets a user be root there.
 */
@Tag("long")
class WithoutProcIT {
    private static final Path JAVA_HOME = Path.of(System.getProperty("java.home"));

    /** The launcher of Java finds its library through /proc, or through this variable. */
    private static final String COVER = "mount --make-rprivate / && mount -t tmpfs -o ro tmpfs /dev/shm"
            + " && mount -t tmpfs -o ro tmpfs /sys && mount -t tmpfs -o ro tmpfs /proc || exit 77;"
            + " [ -z \"$(ls -A /dev/shm /proc /sys | grep -v :)\" ] || exit 76;"
            + " train() { LD_LIBRARY_PATH=\"$0/lib\" \"$0/bin/java\" -XX:TieredStopAtLevel=1 -jar target/train.jar digits"
            + " --epochs 2 \"$@\"; }; ";

    private static final String TWO =
            "%1$s=0 train & first=$!; %1$s=1 train & second=$!; wait $first && wait $second && wait";

    @Test
    void threadsAndProcessesTrainThereAsOneJob() throws Exception {
        ResultLine threads = ResultLine.of(covered("train --threads 2", Map.of()));
        assertThat(threads.ranks()).isEqualTo(2);

        Job job = covered(
                String.format(Locale.ROOT, TWO, "HOROVOD_RANK"),
                Map.of("HOROVOD_SIZE", "2", "HVD_BACKEND", "tcp", "HVD_RENDEZVOUS", "127.0.0.1:" + FreePorts.one()));
        ResultLine processes = ResultLine.of(job);
        assertThat(processes.ranks()).isEqualTo(2);
        assertThat(processes.loss()).isCloseTo(threads.loss(), within(1e-3));
        assertThat(job.output()).contains("back end no shared memory (rank 0: ").contains("), tcp (127.0.0.1)");
    }

    /** Rank 0 leaves a file, whose owner the other ranks compare with their own user. */
    @Test
    void theProcessesOfAnMpirunMeetThereByAFile() throws Exception {
        String job = "without-proc-" + ProcessHandle.current().pid();
        ResultLine met = ResultLine.of(covered(
                String.format(Locale.ROOT, TWO, "OMPI_COMM_WORLD_RANK"),
                Map.of(
                        "OMPI_COMM_WORLD_SIZE", "2",
                        "OMPI_COMM_WORLD_LOCAL_SIZE", "2",
                        "PMIX_NAMESPACE", job,
                        "HVD_BACKEND", "tcp")));
        assertThat(met.ranks()).isEqualTo(2);
    }

    @Test
    void oneRankTrainsThereAndSaysNothingOfItsMemory() {
        Job job = covered("train", Map.of());
        assertThat(ResultLine.of(job).ranks()).isEqualTo(1);
        assertThat(job.output()).contains("peak memory of the ranks' processes in MiB: [unknown];");
    }

    @Test
    void aRankThatFailsEndsTheOthersThatHorovodrunHasStarted(@TempDir Path folder) throws IOException {
        String rank =
                "if [ $HOROVOD_RANK = 1 ]; then until [ -e $0/0 ] && [ -e $0/2 ]; do sleep 0.05; done; exit 7; fi;"
                        + " trap \"\" TERM; sleep 600 & echo $$ $! >$0/pids$HOROVOD_RANK;"
                        + " mv $0/pids$HOROVOD_RANK $0/$HOROVOD_RANK; wait";

        Job job = covered(
                "LD_LIBRARY_PATH=\"$0/lib\" JAVA_HOME=\"$0\" ../mpirun-scripts/horovodrun --gloo -np 3 sh -c '" + rank
                        + "' " + folder,
                Map.of());

        assertThat(job.exitCode()).as(job.output()).isEqualTo(7);
        assertThat(job.output()).containsPattern("first failure: rank 1 on .* ended with exit code 7");
        for (String other : List.of("0", "2")) {
            for (String pid : Files.readString(folder.resolve(other)).strip().split(" ")) {
                ProcessHandle.of(Long.parseLong(pid))
                        .ifPresent(process ->
                                process.onExit().orTimeout(20, TimeUnit.SECONDS).join());
            }
        }
    }

    private static Job covered(String commands, Map<String, String> more) {
        boolean isRoot = System.getProperty("user.name").equals("root");
        Map<String, String> environment = new HashMap<>(more);
        environment.put("HVD_THREADS_PER_RANK", "1");
        Job job = Job.run(
                List.of("unshare", isRoot ? "--mount" : "-rm", "sh", "-c", COVER + commands, JAVA_HOME.toString()),
                environment);
        assumeTrue(
                job.exitCode() != 77 && !job.output().contains("unshare failed"),
                "/proc cannot be covered here: " + job.output());
        return job;
    }
}
