package io.hvd.examples.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.examples.TrainJar;
import io.hvd.testing.Job;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The 3-D UNet, through the real jar. */
@Tag("long")
class UNetIT {
    private static final Pattern DICE = Pattern.compile("RESULT example=unet3d\\S* .* ?dice=(\\S+) .*");

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void theShortPresetFindsTheBallsOfVolumesThatItHasNotSeen(int ranks) {
        Job job = TrainJar.horovodrun(ranks, "unet3d", "--preset", "quick");

        assertThat(dice(job)).isGreaterThan(0.8);
        assertThat(job.lines("RESULT example=unet3d ranks=" + ranks + " epochs=80 "))
                .hasSize(1);
        assertThat(job.lines("weights of all ranks are equal, crc32 ")).hasSize(1);
    }

    @Test
    void ranksShareAFolderOfDrawnFilesAndTheEvaluationIsThatOfTheTraining() throws Exception {
        String data = folder.resolve("data").toString();
        String model = folder.resolve("net.safetensors").toString();
        Job training = TrainJar.horovodrun(
                2, "unet3d", "--preset", "quick", "--epochs", "6", "--data-dir", data, "--checkpoint", model);
        Job evaluation = TrainJar.horovodrun(
                3,
                "unet3d-eval",
                "--preset",
                "quick",
                "--data-dir",
                data,
                "--checkpoint",
                model,
                "--csv",
                folder.resolve("scores.csv").toString(),
                "--out",
                folder.resolve("masks").toString());

        assertThat(training.lines("drawing 12 volumes of 32x32x32 voxels into "))
                .hasSize(1);
        assertThat(dice(evaluation)).isEqualTo(dice(training), within(1e-4));
        assertThat(evaluation.output()).doesNotContain("drawing");
        assertThat(Files.readAllLines(folder.resolve("scores.csv"))).hasSize(5);
        assertThat(Nifti.read(folder.resolve("masks").resolve("img11_mask.nii.gz"))
                        .sizes())
                .isEqualTo("32x32x32");
    }

    private static double dice(Job job) {
        assertThat(job.exitCode()).as(job.output()).isZero();
        Matcher line = DICE.matcher(
                job.output().lines().reduce((first, second) -> second).orElse(""));
        assertThat(line.matches()).as(job.output()).isTrue();
        return Double.parseDouble(line.group(1));
    }
}
