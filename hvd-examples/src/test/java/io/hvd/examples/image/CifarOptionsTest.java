package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Compression;
import java.nio.file.Path;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CifarOptionsTest {
    @Test
    void theDefaultsAreThoseOfTheOriginalPrograms() throws ParseException {
        CifarOptions options = parse("");

        assertThat(options.batchSize()).isEqualTo(3200);
        assertThat(options.net().arch()).isEqualTo("resnet18");
        assertThat(options.net().stem()).isEqualTo(ResNet.Stem.CIFAR);
        assertThat(options.net().classes()).isEqualTo(10);
        assertThat(options.net().width()).isEqualTo(64);
        assertThat(options.schedule().epochs()).isEqualTo(10);
        assertThat(options.schedule().momentum()).isEqualTo(0.9);
        assertThat(options.schedule().weightDecay()).isEqualTo(1e-4);
        assertThat(options.results().printFreq()).isEqualTo(10);
        assertThat(options.compression()).isEqualTo(Compression.NONE);
    }

    @Test
    void theRateFallsToATenthEveryThirtyEpochs() throws ParseException {
        CifarOptions.Schedule schedule = parse("").schedule();

        assertThat(schedule.learningRate(0)).isEqualTo(0.1);
        assertThat(schedule.learningRate(29)).isEqualTo(0.1);
        assertThat(schedule.learningRate(30)).isCloseTo(0.01, within(1e-12));
        assertThat(schedule.learningRate(89)).isCloseTo(0.001, within(1e-12));
    }

    @Test
    void theOriginalsFlagsAreUnderstood() throws ParseException {
        CifarOptions options = parse("-a resnet50 -j 4 -b 64 -p 5 -e --start-epoch 3 --wd 0.001 --seed 7"
                + " --checkpoint here.ckpt --stem imagenet --classes 1000 --fp16-allreduce");

        assertThat(options.workers()).isEqualTo(4);
        assertThat(options.batchSize()).isEqualTo(64);
        assertThat(options.results().printFreq()).isEqualTo(5);
        assertThat(options.results().evaluateOnly()).isTrue();
        assertThat(options.results().checkpoint()).contains(Path.of("here.ckpt"));
        assertThat(options.schedule().firstEpoch()).isEqualTo(3);
        assertThat(options.schedule().weightDecay()).isEqualTo(0.001);
        assertThat(options.seed()).isEqualTo(7);
        assertThat(options.net().arch()).isEqualTo("resnet50");
        assertThat(options.net().stem()).isEqualTo(ResNet.Stem.IMAGENET);
        assertThat(options.net().classes()).isEqualTo(1000);
        assertThat(options.compression()).isEqualTo(Compression.FP16);
    }

    @Test
    void thePresetSetsWhatItsHelpSays() throws Exception {
        CifarOptions quick = parse("--preset quick");

        assertThat(quick)
                .usingRecursiveComparison()
                .ignoringFields("results.run.given") // the words of the command line, for the record of the run
                .isEqualTo(parse(CifarPreset.quickInFlags()));
        assertThat(quick).isNotEqualTo(parse(""));
        assertThat(CifarFlags.all().getOption("preset").getDescription()).contains(CifarPreset.quickInFlags());
    }

    @Test
    void flagsThatAreGivenWinOverThePresetWhereverTheyStand() throws ParseException {
        CifarOptions options = parse("--width 8 --preset quick --epochs 2");

        assertThat(options.net().width()).isEqualTo(8);
        assertThat(options.schedule().epochs()).isEqualTo(2);
        assertThat(options.batchSize()).isEqualTo(CifarPreset.QUICK.batchSize);
    }

    @Test
    void theBatchIsDealtEvenlyToTheRanks() throws ParseException {
        CifarOptions options = parse("-b 64");

        assertThat(options.batchPerRank(1)).isEqualTo(64);
        assertThat(options.batchPerRank(4)).isEqualTo(16);
        assertThatThrownBy(() -> options.batchPerRank(3))
                .isInstanceOf(ParseException.class)
                .hasMessageContainingAll("--batch-size", "64", "3 ranks", "63");
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "--pretrained, no trained weights",
        "-a resnet152, [resnet18; resnet34; resnet50; resnet101]",
        "--stem tiny, [cifar; imagenet]",
        "--preset slow, [quick]",
        "--epochs 0, --epochs",
        "--epochs 3000000000, --epochs",
        "--epochs \u0661, --epochs",
        "--lr 0x1p3, --lr",
        "--lr 1d, --lr",
        "--width none, --width",
        "--print-freq 0, --print-freq",
        "--weight-decay -1, --weight-decay",
        "--train-fraction 0.5, --data-dir",
        "--data-dir x --train-fraction 1, --train-fraction",
        "--resume, --checkpoint",
        "--devices 2, --devices needs --mode dp",
        "--mode dp --sync-bn, --sync-bn beside --mode dp",
        "--fp16-allreduce --bf16-allreduce, --fp16-allreduce",
    })
    void aMistakeIsNamed(String flags, String named) {
        assertThatThrownBy(() -> parse(flags))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining(named.replace(';', ','));
    }

    /** Every image must have an output to be assigned to. */
    @ParameterizedTest
    @ValueSource(ints = {1, 9})
    void theNetNeedsAnOutputForEveryClass(int classes) {
        assertThatThrownBy(() -> CifarExample.images(parse("--classes " + classes)))
                .isInstanceOf(ParseException.class)
                .hasMessageContainingAll("10 classes", "--classes is " + classes);
    }

    static CifarOptions parse(String flags) throws ParseException {
        String[] words = flags.isEmpty() ? new String[0] : flags.split(" ");
        return CifarOptions.from(new DefaultParser().parse(CifarFlags.all(), words));
    }
}
