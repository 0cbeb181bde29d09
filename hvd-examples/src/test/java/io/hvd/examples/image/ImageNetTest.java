package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.examples.TrainHere;
import io.hvd.examples.data.CifarFiles;
import io.hvd.examples.data.PhotoSets;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.train.Schedule;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.CrossEntropyLossOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** On ranks that are threads of this JVM. */
@Timeout(120)
class ImageNetTest {
    private static final String TINY =
            "--model resnet18 --width 4 --image-size 33 --classes 3 --train-images 12 --val-images 5 --workers 0 --warmup-epochs 1 ";
    private static final String TINY_FOLDERS =
            "imagenet --model resnet18 --width 4 --image-size 33 --epochs 1 --batch-size 2 --workers 1 --threads 2"
                    + " --base-lr 0.001 --checkpoint-format none --train-dir ";

    @TempDir
    Path folder;

    /** The rates of Horovod's ImageNet example, with a base rate of 0.0125 on four ranks. */
    @Test
    void theRateWarmsUpAndFallsToATenthAtTheEpochs30And60And80() throws Exception {
        Schedule schedule = parse("").schedule(4);

        assertThat(schedule.rate(0)).isCloseTo(0.0125, within(1e-12));
        assertThat(schedule.rate(2.5)).isCloseTo(0.0125 * 2.5, within(1e-12));
        assertThat(schedule.rate(10)).isCloseTo(0.05, within(1e-12));
        assertThat(schedule.rate(30)).isCloseTo(0.005, within(1e-12));
        assertThat(schedule.rate(60)).isCloseTo(0.0005, within(1e-12));
        assertThat(schedule.rate(80)).isCloseTo(0.00005, within(1e-12));
        assertThat(parse("--batches-per-allreduce 3").schedule(4).rate(10)).isCloseTo(0.15, within(1e-12));
        assertThat(parse("--use-adasum").schedule(4).rate(10)).isCloseTo(0.0125, within(1e-12));
    }

    @Test
    void theDefaultsAreThoseOfHorovodsProgramAndThePresetWhatItsHelpSays() throws Exception {
        ImageNetOptions options = parse("");

        assertThat(options.model()).isEqualTo("resnet50");
        assertThat(options.epochs()).isEqualTo(90);
        assertThat(options.batchSize()).isEqualTo(32);
        assertThat(options.valBatchSize()).isEqualTo(32);
        assertThat(options.sgd()).isEqualTo(new ImageNetOptions.Sgd(0.0125, 5, 0.9, 0.00005));
        assertThat(options.data().imageSize()).isEqualTo(224);
        assertThat(parse("--preset quick"))
                .usingRecursiveComparison()
                .ignoringFields("run.given") // the words of the command line, for the record of the run
                .isEqualTo(parse(ImageNetPreset.QUICK.inFlags()));
        assertThat(parse("--preset quick --epochs 7").epochs()).isEqualTo(7);
    }

    @Test
    void theSmoothedLossIsThatOfLibTorch() {
        TorchRuntime.load();
        try (PointerScope scope = new PointerScope()) {
            Tensor scores = Tensor.create(new float[] {1, -2, 0.5f, 3, 0, -1}, 2, 3);
            Tensor targets = Tensor.create(new long[] {2, 0}, 2);
            CrossEntropyLossOptions options = new CrossEntropyLossOptions();
            options.label_smoothing().put(0.1);

            float found = ImageNetStep.smoothLoss(torch.log_softmax(scores, 1), targets, 0.1)
                    .item_float();

            assertThat(found)
                    .isCloseTo(torch.cross_entropy(scores, targets, options).item_float(), within(1e-5f));
            assertThat(ImageNetStep.smoothLoss(torch.log_softmax(scores, 1), targets, 0)
                            .item_float())
                    .isCloseTo(torch.cross_entropy(scores, targets).item_float(), within(1e-5f));
        }
    }

    /** The crops of each epoch follow from its number, and the rates from the place of each batch. */
    @Test
    void aTrainingThatGoesOnFromTheHighestEpochEndsWithTheVeryFileOfAnUninterruptedOne() throws Exception {
        List<Evaluation> whole = train(2, "--epochs 2 --batch-size 3 --checkpoint-format " + folder + "/whole-{epoch}");
        train(2, "--epochs 1 --batch-size 3 --checkpoint-format " + folder + "/part-{epoch}");
        List<Evaluation> part = train(2, "--epochs 2 --batch-size 3 --checkpoint-format " + folder + "/part-{epoch}");

        assertThat(folder.resolve("part-2")).hasSameBinaryContentAs(folder.resolve("whole-2"));
        assertThat(part).containsExactlyElementsOf(whole).containsOnly(whole.get(0));
        assertThat(whole.get(0).samples()).isEqualTo(5);
        assertThat(train(2, "--epochs 2 --checkpoint-format " + folder + "/part-{epoch}")
                        .get(1))
                .as("evaluated alone")
                .isEqualTo(whole.get(0));
    }

    /** Three ranks with four images each make two steps of two passes, and the last pass has as many as the others. */
    @Test
    void passesOfAStepAddUpAndTheRatesFollowTheirNumber() throws Exception {
        TrainHere run = TrainHere.run(("imagenet " + TINY
                        + "--epochs 1 --batch-size 1 --batches-per-allreduce 2 --gradient-predivide-factor 2"
                        + " --fp16-allreduce --no-cuda --threads 3")
                .split(" "));

        assertThat(run.exitCode()).as(run.output()).isZero();
        assertThat(run.output())
                .contains(
                        "2 steps per epoch of 2 x 1 images on each of 3 ranks",
                        "learning rate multiFactor(0.075",
                        "RESULT example=imagenet ranks=3 epochs=1 steps=2 ",
                        "data=drawn model=resnet18",
                        "evaluated=5 skipped=0");
    }

    @Test
    void aDamagedFileEndsTheTrainingByItsNameOrIsSkippedAndNamed() throws Exception {
        CifarFiles.writeFolders(folder, 3, 2);
        Path damaged = folder.resolve("train/green/001.jpg");
        Files.writeString(damaged, "no image");
        String flags = TINY_FOLDERS + folder + "/train --val-dir " + folder + "/test";

        assertThatThrownBy(() -> TrainHere.run(flags.split(" "))).hasStackTraceContaining(damaged.toString());
        TrainHere run = TrainHere.run((flags + " --skip-corrupt").split(" "));

        assertThat(run.exitCode()).as(run.output()).isZero();
        assertThat(run.output())
                .contains("in 3 classes, files: 9 to train on, 6 to evaluate")
                .contains("skipped: " + damaged + " cannot be decoded")
                .contains("data=files model=resnet18 ", "evaluated=6 skipped=1");
    }

    /** Java's own decoder throws an IllegalArgumentException for such a file. */
    @Test
    void aColourFileWithAProfileForGreyIsTrainedOnAsInTorchvision() throws Exception {
        CifarFiles.writeFolders(folder, 3, 2);
        CifarFiles.writeJpegWithGreyProfile(folder.resolve("train/green/001.jpg"));
        String flags = TINY_FOLDERS + folder + "/train --val-dir " + folder + "/test --skip-corrupt";

        TrainHere run = TrainHere.run(flags.split(" "));

        assertThat(run.exitCode()).as(run.output()).isZero();
        assertThat(run.output()).contains("files: 9 to train on", " skipped=0");
    }

    @Test
    void aTrainingOnFoldersSavesAfterEachEpochUnlessToldOtherwise() throws Exception {
        String folders = "--train-dir x --val-dir y";

        ImageNetOptions saving = parse(folders);

        assertThat(saving.checkpoints().orElseThrow().file(7)).isEqualTo(Path.of("./checkpoint-7.safetensors"));
        assertThat(saving.run().resumes()).isTrue();
        assertThat(parse(folders + " --checkpoint-format a-{epoch}").checkpoints())
                .contains(new EpochFiles("a-{epoch}"));
        assertThat(parse(folders + " --checkpoint-format none").checkpoints()).isEmpty();
        assertThat(parse("").checkpoints()).as("drawn images").isEmpty();
        assertThat(parse("").run().resumes()).isFalse();
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "--model vgg16, '[resnet18, resnet34, resnet50, resnet101]'",
        "--train-dir x, --val-dir",
        "--train-dir x --val-dir y --classes 3, --classes and --train-dir exclude each other",
        "--checkpoint-format net.ckpt, '{epoch}'",
        "--use-adasum --batches-per-allreduce 2, --batches-per-allreduce",
        "--use-adasum --gradient-predivide-factor 2, --gradient-predivide-factor",
        "--no-cuda --device cuda, --no-cuda",
        "--label-smoothing 1, --label-smoothing",
        "--preset slow, '[quick]'",
        "--image-size 32, --image-size",
    })
    void aMistakeIsNamed(String flags, String named) {
        assertThatThrownBy(() -> parse(flags))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining(named);
    }

    @Test
    void aFolderThatCannotBeWrittenIsNamedBeforeTheTraining() {
        assertThatThrownBy(() -> train(2, "--checkpoint-format " + folder + "/none/{epoch}"))
                .hasStackTraceContaining("--checkpoint-format")
                .hasStackTraceContaining("there is no folder");
    }

    @Test
    void ranksThatHaveFoundDifferentImagesAreToldSo() throws Exception {
        CifarFiles.writeFolders(folder, 2, 1);
        Path other = folder.resolve("other");
        CifarFiles.writeFolders(other, 2, 1);
        Files.move(other.resolve("train/red/001.jpg"), other.resolve("train/red/007.jpg"));
        ImageNetOptions options = parse("--model resnet18 --width 4");
        List<PhotoSets> found = List.of(
                PhotoSets.open(folder.resolve("train"), folder.resolve("test")),
                PhotoSets.open(folder.resolve("train"), folder.resolve("test")),
                PhotoSets.open(other.resolve("train"), other.resolve("test")));

        List<String> said = Hvd.spawn(3, hvd -> {
            try {
                return "no mistake: " + new ImageNetTraining(hvd, options, found.get(hvd.rank()));
            } catch (ParseException e) {
                return e.getMessage();
            }
        });

        assertThat(said).hasSize(3).containsOnly(said.get(0));
        assertThat(said.get(0))
                .matches("the ranks have found different images: 6 to train on and 3 to evaluate in 3 classes, crc32 of"
                        + " the names (\\w+) and (\\w+) on rank 0 \\(.*\\), 6 to train on and 3 to evaluate in 3"
                        + " classes, crc32 of the names (?!\\1)\\w+ and \\2 on rank 2 \\(.*\\)");
    }

    private static List<Evaluation> train(int ranks, String flags) throws Exception {
        ImageNetOptions options = parse(TINY + flags);
        PhotoSets photos = options.data().open(options.seed());
        return Hvd.spawn(ranks, hvd -> new ImageNetTraining(hvd, options, photos).run());
    }

    private static ImageNetOptions parse(String flags) throws ParseException {
        String[] words = flags.isEmpty() ? new String[0] : flags.split(" ");
        return ImageNetOptions.from(new DefaultParser().parse(ImageNetOptions.flags(), words));
    }
}
