package io.hvd.examples.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.examples.TrainHere;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.commons.cli.DefaultParser;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On ranks that are threads of this JVM. */
class VolumeTrainingTest {
    private static final String TINY =
            "--size 16 --roi 8 --channels 2,3 --images 8 --eval-images 5 --epochs 2 --lr 0.01 --workers 1 --crops 2 ";

    @TempDir
    Path folder;

    /** Eight volumes in steps of four, by one rank and by two: the same crops, whichever rank draws them. */
    @Test
    void twoRanksEndWithTheWeightsOfOneAndEvaluateAlike() throws Exception {
        VolumeScores one = train(1, TINY + "-b 4 --checkpoint " + folder.resolve("one"));
        VolumeScores two = train(2, TINY + "-b 2 --checkpoint " + folder.resolve("two"));
        VolumeScores other = train(1, TINY + "-b 4 --max-steps 3 --checkpoint " + folder.resolve("other"));

        Map<String, Tensor> expected = Checkpoint.read(folder.resolve("one")).tensors();
        assertThat(distance(Checkpoint.read(folder.resolve("two")).tensors(), expected))
                .isLessThan(2e-4);
        assertThat(distance(Checkpoint.read(folder.resolve("other")).tensors(), expected))
                .isGreaterThan(1e-3);
        assertThat(two.meanLoss()).isEqualTo(one.meanLoss(), within(1e-4));
        assertThat(other.meanLoss()).isNotCloseTo(one.meanLoss(), within(1e-4));
        assertThat(one.rows()).hasSize(5);
    }

    private static double distance(Map<String, Tensor> some, Map<String, Tensor> others) {
        assertThat(some.keySet()).isEqualTo(others.keySet()).contains("model.0.conv.unit0.conv.weight");
        double largest = 0;
        for (Map.Entry<String, Tensor> entry : others.entrySet()) {
            if (hasNormBehind(entry.getKey(), others.keySet())) {
                continue;
            }
            float[] a = some.get(entry.getKey()).toFloatArray();
            float[] b = entry.getValue().toFloatArray();
            for (int i = 0; i < a.length; i++) {
                largest = Math.max(largest, Math.abs(a[i] - b[i]));
            }
        }
        return largest;
    }

    /** Whether a norm takes this bias away again: its gradients are nothing but rounding, of which Adam makes whole steps. */
    private static boolean hasNormBehind(String name, Set<String> all) {
        String bias = "conv.bias";
        return name.endsWith(bias) && all.contains(name.substring(0, name.length() - bias.length()) + "adn.A.weight");
    }

    private static VolumeScores train(int ranks, String flags) throws Exception {
        VolumeOptions options = VolumeOptions.from(new DefaultParser().parse(VolumeOptions.flags(), flags.split(" ")));
        return Hvd.spawn(ranks, hvd -> {
                    VolumeData data = VolumeData.open(hvd, options.data(), options.roi(), 1);
                    VolumeTraining training = new VolumeTraining(hvd, options, data);
                    assertThat(training.run()).isZero();
                    return training.scores();
                })
                .get(0);
    }

    /** Five volumes cannot be dealt evenly to three ranks, and six ranks have one without any. */
    @Test
    void anEvaluationHasTheSameBitsWithAnyNumberOfRanks() throws Exception {
        String model = folder.resolve("net").toString();
        train(1, TINY + "-b 4 --checkpoint " + model);
        String one = evaluate(1, model);

        assertThat(one)
                .contains("image,dice,")
                .containsPattern("img8,0\\.\\d+,")
                .containsPattern("img12,0\\.\\d+,");
        assertThat(evaluate(3, model)).isEqualTo(one);
        assertThat(evaluate(6, model)).isEqualTo(one);
        assertThat(folder.resolve("scores-1")).hasSameBinaryContentAs(folder.resolve("scores-3"));
        for (int volume = 8; volume < 13; volume++) {
            String mask = "img" + volume + "_mask.nii.gz";
            assertThat(folder.resolve("masks-3").resolve(mask))
                    .hasSameBinaryContentAs(folder.resolve("masks-1").resolve(mask));
            double predicted = sum(Nifti.read(folder.resolve("masks-3").resolve(mask)));
            assertThat(one).containsPattern("img" + volume + ",[^,]*,\\d+," + (int) predicted + ",");
        }
    }

    private static double sum(Volume mask) {
        double sum = 0;
        for (float voxel : mask.voxels()) {
            sum += voxel;
        }
        return sum;
    }

    /** Returns what it prints, but for the number of ranks and the speed. */
    private String evaluate(int ranks, String model) throws Exception {
        TrainHere run = TrainHere.run(("unet3d-eval --size 16 --images 8 --eval-images 5 --threads " + ranks
                        + " --checkpoint " + model + " --csv " + folder.resolve("scores-" + ranks) + " --out "
                        + folder.resolve("masks-" + ranks))
                .split(" "));
        assertThat(run.exitCode()).as(run.output()).isZero();
        assertThat(run.output()).contains("RESULT example=unet3d-eval ranks=" + ranks + " volumes=5 ");
        return run.output()
                .lines()
                .filter(line -> line.matches("(img|image|RESULT).*"))
                .map(line -> line.replaceAll("(ranks|volumes_per_second)=\\S+", ""))
                .reduce("", (all, line) -> all + line + "\n");
    }

    @Test
    void badFlagsAndFilesAreNamedWithWhatIsExpected() throws Exception {
        Path foreign = Files.writeString(folder.resolve("text"), "no model");
        TrainHere large = TrainHere.run("unet3d", "--size", "2000");
        assertThat(large.output()).contains("--size is \"2000\", expected at most 1024");
        Map<String, String> messages = Map.of(
                "unet3d --preset quick --roi 18",
                "--roi is \"18\", expected a multiple of 4 and at least 8",
                "unet3d --channels 16,x",
                "--channels is \"16,x\", expected whole numbers of at least 1 with commas between them",
                "unet3d --channels 16",
                "--channels is \"16\", expected at least 2 levels",
                "unet3d --size 64",
                "--size is \"64\", expected at least --roi 96",
                "unet3d-eval --preset quick",
                "--checkpoint FILE is missing",
                "unet3d-eval --overlap 1 --checkpoint x",
                "--overlap is \"1\", expected a number of at least 0 and below 1",
                "unet3d-eval --weighting bell --checkpoint x",
                "--weighting is \"bell\", expected one of [constant, gaussian]",
                "unet3d-eval --checkpoint " + foreign,
                "--checkpoint " + foreign + " cannot be read on rank 0: ");
        for (Map.Entry<String, String> entry : messages.entrySet()) {
            TrainHere run = TrainHere.run(entry.getKey().split(" "));
            assertThat(run.exitCode()).as(entry.getKey()).isEqualTo(2);
            assertThat(run.output()).contains(entry.getValue());
        }
    }

    @Test
    void thePresetsAreThoseOfMonaisExampleAndAShortOne() throws Exception {
        VolumeOptions full = VolumeOptions.from(new DefaultParser().parse(VolumeOptions.flags(), new String[0]));
        assertThat(full.data().size()).isEqualTo(128);
        assertThat(full.roi()).isEqualTo(96);
        assertThat(full.channels()).isEqualTo(List.of(16, 32, 64, 128, 256));
        assertThat(List.of(full.epochs(), full.batchSize(), full.crops(), full.workers()))
                .isEqualTo(List.of(5, 2, 4, 2));
        assertThat(full.learningRate()).isEqualTo(0.001);
        assertThat(full.window()).isEqualTo(new SlidingWindow(96, 4, 0.25, SlidingWindow.Weighting.CONSTANT));

        String[] preset = ("--preset quick " + VolumePreset.quickTraining()).split(" ");
        VolumeOptions quick = VolumeOptions.from(
                new DefaultParser().parse(VolumeOptions.flags(), new String[] {"--preset", "quick"}));
        assertThat(VolumeOptions.from(new DefaultParser().parse(VolumeOptions.flags(), preset)))
                .isEqualTo(quick);
        assertThat(quick.data().evalImages()).isEqualTo(4);
    }
}
