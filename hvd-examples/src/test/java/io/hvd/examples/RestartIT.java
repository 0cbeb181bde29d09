package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command of docs/how-to/from-horovod.md that starts a job again, with a rank that is killed when there is a checkpoint. */
@Tag("long")
class RestartIT {
    private static final Pattern COMMAND = Pattern.compile("```sh\n(\\S*horovodrun --restarts .*?)```", Pattern.DOTALL);

    @TempDir
    Path folder;

    @Test
    void theJobOfThePageGoesOnFromItsCheckpointWhenOneOfFourIsKilled() throws IOException {
        Path root = Path.of("..").toAbsolutePath().normalize();
        Matcher command = COMMAND.matcher(Files.readString(root.resolve("docs/how-to/from-horovod.md")));
        assertThat(command.find()).as("the command on the page").isTrue();
        Path series = folder.resolve("run1");
        String commands = command.group(1).replace("--checkpoint-dir run1", "--checkpoint-dir " + series);
        Path java = folder.resolve("java");
        Files.writeString(java, killingRankOneOnce(series));
        assertThat(java.toFile().setExecutable(true)).isTrue();

        Job job = Job.run(
                List.of("bash", "-c", "cd '" + root + "' && " + commands),
                Map.of("PATH", folder + ":" + System.getenv("PATH"), "HVD_THREADS_PER_RANK", "1"));

        assertThat(job.output())
                .contains("horovodrun: first failure: rank 1", "horovodrun: restart 1 of 3, with 4 ranks")
                .containsPattern("going on from .*, which 4 ranks");
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(ResultLine.of(job).ranks()).isEqualTo(4);
        assertThat(ResultLine.of(job).accuracy())
                .as("of an uninterrupted run of 8 epochs: 0.97")
                .isGreaterThan(0.9);
    }

    /** Stands before the JDK's on the path. */
    private String killingRankOneOnce(Path series) {
        return String.join(
                "\n",
                "#!/bin/bash",
                "java='" + Path.of(System.getProperty("java.home"), "bin", "java") + "'",
                "if [[ ${OMPI_COMM_WORLD_RANK:-} == 1 && ! -e '" + folder + "/killed' ]]; then",
                "    \"$java\" \"$@\" &",
                "    until compgen -G '" + series + "/step-*.safetensors' >/dev/null; do sleep 0.05; done",
                "    touch '" + folder + "/killed'",
                "    kill -9 $!",
                "    wait $!",
                "    exit $?",
                "fi",
                "exec \"$java\" \"$@\"",
                "");
    }
}
