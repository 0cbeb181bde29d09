package io.hvd.examples.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.data.DataLoader;
import io.hvd.data.EvalSampler;
import io.hvd.data.SplitMix64;
import io.hvd.examples.training.LocalRootFirst;
import io.hvd.tensor.Shape;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The data of a training: drawn volumes, in memory and in files, and the crops of them. */
class SyntheticVolumesTest {
    private static final int SIZE = 24;
    private static final SyntheticVolumes VOLUMES = new SyntheticVolumes(SIZE, 3);

    @TempDir
    Path folder;

    @Test
    void aVolumeHasBrightBallsInDarkerNoiseAndAMaskOfThem() {
        LabelledVolume drawn = VOLUMES.draw(4);
        float[] lowest = {1, 1};
        float[] highest = {0, 0};
        int[] count = {0, 0};
        for (int i = 0; i < SIZE * SIZE * SIZE; i++) {
            int kind = drawn.label().voxels()[i] == 1 ? 1 : 0;
            assertThat(drawn.label().voxels()[i]).isIn(0f, 1f);
            lowest[kind] = Math.min(lowest[kind], drawn.image().voxels()[i]);
            highest[kind] = Math.max(highest[kind], drawn.image().voxels()[i]);
            count[kind]++;
        }
        assertThat(lowest[0]).isZero();
        assertThat(highest[0]).isLessThan(lowest[1]).isGreaterThan(0.45f);
        assertThat(highest[1]).isEqualTo(1);
        assertThat(count[1]).isBetween(100, SIZE * SIZE * SIZE / 2);
    }

    @Test
    void aVolumeFollowsFromSeedAndIndexAlone() {
        float[] one = VOLUMES.draw(4).image().voxels();

        assertThat(VOLUMES.first(9).names()).hasSize(9).contains("img4");
        assertThat(VOLUMES.draw(4).image().voxels()).containsExactly(one);
        assertThat(VOLUMES.draw(5).image().voxels()).isNotEqualTo(one);
        assertThat(new SyntheticVolumes(SIZE, 4).draw(4).image().voxels()).isNotEqualTo(one);
    }

    @Test
    void filesHoldWhatIsDrawnAndOnlyMissingOnesAreWritten() throws IOException {
        SyntheticVolumes.generate(folder, 3, SIZE, 3);
        FileTime old = FileTime.fromMillis(1_000_000);
        Files.setLastModifiedTime(folder.resolve("img0.nii.gz"), old);
        Files.delete(folder.resolve("seg1.nii.gz"));
        assertThat(SyntheticVolumes.missing(folder, 11)).isEqualTo(9);
        SyntheticVolumes.generate(folder, 11, SIZE, 3);

        assertThat(Files.getLastModifiedTime(folder.resolve("img0.nii.gz"))).isEqualTo(old);
        assertThat(SyntheticVolumes.missing(folder, 11)).isZero();
        VolumeFolder read = VolumeFolder.of(folder);
        assertThat(read.requireFitting(SIZE)).isEmpty();
        assertThat(read.asSet().names())
                .hasSize(11)
                .startsWith("img0", "img1", "img2")
                .endsWith("img9", "img10");
        for (int index : new int[] {0, 1, 10}) {
            assertThat(read.get(index)).usingRecursiveComparison().isEqualTo(VOLUMES.draw(index));
        }
    }

    @Test
    void aFolderOfOtherVolumesIsNotDrawnInto() throws IOException {
        SyntheticVolumes.generate(folder, 1, SIZE, 3);

        assertThatThrownBy(() -> SyntheticVolumes.generate(folder, 1, SIZE, 4))
                .hasMessageContaining("were drawn with size 24, seed 3, expected size 24, seed 4");
    }

    @Test
    void onlyOneRankOfAHostDrawsAndAllHaveAllVolumes() throws Exception {
        VolumeData.Choice choice = choice(SIZE, 4, 2);
        List<String> found = Hvd.spawn(3, hvd -> {
            VolumeData data = VolumeData.open(hvd, choice, 16, 1);
            return data.train().names() + " " + data.eval().names() + " " + data.word();
        });

        assertThat(found).hasSize(3).containsOnly("[img0, img1, img2, img3] [img4, img5] drawn");
        try (var files = Files.list(folder)) {
            assertThat(files).hasSize(2 * 6 + 1);
        }
    }

    @Test
    void noRankGoesOnBeforeOneOfItsHostHasDoneTheWork() throws Exception {
        Queue<String> events = new ConcurrentLinkedQueue<>();
        Hvd.spawn(3, hvd -> {
            LocalRootFirst.run(hvd, "work", () -> events.add("done by " + hvd.rank()));
            return events.add("after");
        });
        assertThat(events).containsExactly("done by 0", "after", "after", "after");

        List<String> messages = Hvd.spawn(2, hvd -> {
            try {
                LocalRootFirst.run(hvd, "work", () -> Files.createDirectory(folder));
                return "done";
            } catch (ParseException e) {
                return e.getMessage();
            }
        });
        assertThat(messages.get(1))
                .startsWith("work: java.nio.file.FileAlreadyExistsException: " + folder + ", on rank 0 (")
                .isEqualTo(messages.get(0));
    }

    /** Without the mark they count as anybody's files. */
    @Test
    void realVolumesAreDividedIntoTheFirstToTrainOnAndTheLastToEvaluate() throws Exception {
        SyntheticVolumes.generate(folder, 5, SIZE, 3);
        Files.delete(folder.resolve(SyntheticVolumes.MARK));

        assertThat(open(choice(SIZE, null, 2))).isEqualTo("[img0, img1, img2] [img3, img4] files");
        assertThat(open(choice(SIZE, 2, 2))).isEqualTo("[img0, img1] [img3, img4] files");
        assertThatThrownBy(() -> open(choice(SIZE, null, 5)))
                .hasRootCauseInstanceOf(ParseException.class)
                .hasMessageContaining("there are 5 volumes read from " + folder + ", expected at least 6");
    }

    @Test
    void volumesThatAreTooSmallOrWithoutTheirMaskAreRefusedOnAllRanks() throws Exception {
        SyntheticVolumes.generate(folder, 3, SIZE, 3);
        Files.delete(folder.resolve(SyntheticVolumes.MARK));
        Nifti.write(folder.resolve("img2.nii.gz"), Volume.of(24, 8, 24, new float[24 * 8 * 24]), VoxelType.UINT8);
        refuse("seg2.nii.gz has 24x24x24 voxels, expected 24x8x24 as img2.nii.gz");
        Nifti.write(folder.resolve("seg2.nii.gz"), Volume.of(24, 8, 24, new float[24 * 8 * 24]), VoxelType.UINT8);
        refuse("img2.nii.gz has 24x8x24 voxels, expected at least 16 along each side, as --roi says");
        Files.write(folder.resolve("img1.nii.gz"), new byte[9]);
        refuse("img1.nii.gz: the file ends after 9 bytes (decompressed), expected a header of 348");
        Files.delete(folder.resolve("seg0.nii.gz"));
        refuse("seg0.nii.gz: it belongs to img0.nii.gz");
    }

    private void refuse(String message) throws Exception {
        List<String> messages = Hvd.spawn(2, hvd -> {
            try {
                return "opened " + VolumeData.open(hvd, choice(SIZE, null, 1), 16, 1);
            } catch (ParseException e) {
                return e.getMessage();
            }
        });
        assertThat(messages.get(0)).contains("--data-dir " + folder + ": ", message, ", on rank 0 (");
        assertThat(messages.get(1)).isEqualTo(messages.get(0));
    }

    private static String open(VolumeData.Choice choice) throws Exception {
        return Hvd.spawn(1, hvd -> {
                    VolumeData data = VolumeData.open(hvd, choice, 16, 1);
                    return data.train().names() + " " + data.eval().names() + " " + data.word();
                })
                .get(0);
    }

    private VolumeData.Choice choice(int size, Integer images, int evalImages) {
        return new VolumeData.Choice(
                Optional.of(folder),
                size,
                images == null ? OptionalInt.empty() : OptionalInt.of(images),
                evalImages,
                3);
    }

    @Test
    void valuesAreStretchedToTheUnitIntervalAndASingleValueBecomesZero() {
        assertThat(Volume.of(3, 1, 1, new float[] {-2, 0, 6}).scaledToUnit().voxels())
                .containsExactly(0, 0.25f, 1);
        assertThat(Volume.of(2, 1, 1, new float[] {5, 5}).scaledToUnit().voxels())
                .containsOnly(0);
    }

    @Test
    void aVoxelThatIsNoNumberIsNamed() {
        Volume image = Volume.of(2, 1, 1, new float[] {1, Float.NaN});

        assertThatThrownBy(() -> new LabelledVolume("img7", image, image).scaled())
                .hasMessage("voxel 1 of img7 is NaN, expected a finite number");
        assertThatThrownBy(() -> new LabelledVolume("img7", image, Volume.of(1, 2, 1, new float[2])))
                .hasMessage("the label of img7 has 1x2x1 voxels, expected 2x1x1 as the image");
    }

    /** NumPy's definition: a quarter turn from axis 0 to axis 2 takes out[i, j, k] from in[k, j, n - 1 - i]. */
    @Test
    void aTurnedCropIsTurnedFromTheFirstToTheLastAxis() {
        int side = 3;
        float[] numbers = new float[5 * 6 * 7];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = i;
        }
        Volume volume = Volume.of(5, 6, 7, numbers);
        float[] expected = copy(new CubeCrop(1, 2, 3, side, 0), volume);
        assertThat(expected)
                .startsWith(volume.index(1, 2, 3), volume.index(2, 2, 3))
                .endsWith(volume.index(3, 4, 5));
        for (int turns = 1; turns <= 3; turns++) {
            float[] before = expected;
            expected = new float[before.length];
            for (int i = 0; i < side; i++) {
                for (int j = 0; j < side; j++) {
                    for (int k = 0; k < side; k++) {
                        expected[(k * side + j) * side + i] = before[((side - 1 - i) * side + j) * side + k];
                    }
                }
            }
            assertThat(copy(new CubeCrop(1, 2, 3, side, turns), volume))
                    .as("%d turns", turns)
                    .containsExactly(expected);
        }
    }

    private static float[] copy(CubeCrop crop, Volume from) {
        FloatBuffer to = FloatBuffer.allocate(crop.side() * crop.side() * crop.side());
        crop.copy(from, to);
        return to.array();
    }

    @Test
    void halfOfTheCropsHaveTheirCentreInTheMaskAndAllLieInTheVolume() {
        float[] label = new float[20 * 21 * 22];
        Volume mask = Volume.of(20, 21, 22, label);
        label[mask.index(0, 10, 21)] = 1;

        List<CubeCrop> crops = CubeCrop.choose(mask, 8, 4000, new SplitMix64(1));

        assertThat(crops)
                .allMatch(crop -> crop.x() >= 0 && crop.x() <= 12)
                .allMatch(crop -> crop.y() >= 0 && crop.y() <= 13)
                .allMatch(crop -> crop.z() >= 0 && crop.z() <= 14);
        assertThat(crops.stream().filter(crop -> crop.x() == 0 && crop.y() == 6 && crop.z() == 14))
                .hasSizeBetween(1800, 2250);
        for (int turns = 0; turns < 4; turns++) {
            int number = turns;
            int share = turns == 0 ? 2000 : 667;
            assertThat(crops.stream().filter(crop -> crop.turns() == number)).hasSizeBetween(share - 200, share + 200);
        }
        assertThat(CubeCrop.choose(Volume.of(8, 8, 8, new float[512]), 8, 3, new SplitMix64(1)))
                .allMatch(crop -> crop.x() == 0 && crop.y() == 0 && crop.z() == 0);
    }

    /** Whichever worker reads them, on however many ranks. */
    @Test
    void cropsDependOnSeedEpochAndVolumeOnly() {
        List<List<CubeCrop>> alone = crops(1, 0, 5);

        assertThat(crops(1, 3, 5)).isEqualTo(alone);
        assertThat(crops(2, 2, 5)).isEqualTo(alone);
        assertThat(crops(1, 0, 6)).hasSameSizeAs(alone).doesNotContainAnyElementsOf(alone);
        assertThat(alone).doesNotHaveDuplicates();
    }

    private static List<List<CubeCrop>> crops(int ranks, int workers, int epoch) {
        List<List<CubeCrop>> crops = new ArrayList<>(Collections.nCopies(6, null));
        for (int rank = 0; rank < ranks; rank++) {
            CropSample.Source source = new CropSample.Source(VOLUMES.first(6).volumes(), 16, 2, 7);
            source.setEpoch(epoch);
            EvalSampler sampler = new EvalSampler(6, ranks, rank);
            int at = 0;
            try (DataLoader<CropSample, CropSample> loader = DataLoader.<CropSample, CropSample>builder(
                            source, sampler, batch -> batch.get(0))
                    .workers(workers)
                    .build()) {
                for (CropSample sample : loader) {
                    crops.set(sampler.indices()[at++], sample.crops());
                }
            }
        }
        return crops;
    }

    /** Real masks often have other values than 1. */
    @Test
    void aBatchHasTheCropsOfTheScaledImageAndMasksOfZeroAndOne() {
        float[] image = new float[4 * 4 * 4];
        float[] label = new float[image.length];
        for (int i = 0; i < image.length; i++) {
            image[i] = i / 63f;
            label[i] = i % 4 == 1 ? 255 : 0;
        }
        LabelledVolume volume = new LabelledVolume("a", Volume.of(4, 4, 4, image), Volume.of(4, 4, 4, label));
        List<CubeCrop> crops = List.of(new CubeCrop(0, 0, 0, 2, 0), new CubeCrop(1, 2, 2, 2, 0));
        CropSample.Layout layout = new CropSample.Layout(2, 2);
        assertThat(layout.fields()).hasSize(2).allMatch(field -> field.shape().equals(Shape.of(2, 1, 2, 2, 2)));
        List<ByteBuffer> to = layout.fields().stream()
                .map(field -> ByteBuffer.allocate(4 * 16).order(ByteOrder.nativeOrder()))
                .toList();

        layout.write(new CropSample(volume, crops), to);

        float[] images = floats(to.get(0));
        assertThat(Arrays.copyOf(images, 4)).containsExactly(0, 1 / 63f, 4 / 63f, 5 / 63f);
        assertThat(images[8]).isEqualTo(41 / 63f);
        assertThat(floats(to.get(1))).containsExactly(0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0);
    }

    private static float[] floats(ByteBuffer bytes) {
        float[] floats = new float[bytes.capacity() / 4];
        bytes.asFloatBuffer().get(floats);
        return floats;
    }
}
