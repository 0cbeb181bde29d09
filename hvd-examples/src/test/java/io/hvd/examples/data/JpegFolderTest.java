package io.hvd.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.data.DataLoader;
import io.hvd.data.DataLoaderException;
import io.hvd.data.Dataset;
import io.hvd.data.EvalSampler;
import java.awt.Color;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class JpegFolderTest {
    /** JPEG loses a little. */
    private static final float A_FEW_LEVELS = 4 / 255f / 0.24f;

    @TempDir
    Path folder;

    @Test
    void classesAreNumberedByTheOrderOfTheirNamesAndOtherFilesIgnored() throws Exception {
        Path birds = Files.createDirectory(folder.resolve("bird"));
        Path ants = Files.createDirectory(folder.resolve("ant"));
        CifarFiles.writeJpeg(birds.resolve("b.JPEG"), Color.RED, 32, 32);
        CifarFiles.writeJpeg(ants.resolve("z.jpg"), Color.RED, 32, 32);
        CifarFiles.writeJpeg(ants.resolve(".hidden.jpg"), Color.RED, 32, 32);
        Files.writeString(birds.resolve("notes.txt"), "no image");
        Files.writeString(folder.resolve("notes.txt"), "no class");

        JpegFolder images = JpegFolder.open(folder).orElseThrow();

        assertThat(images.classes()).containsExactly("ant", "bird");
        assertThat(images.size()).isEqualTo(2);
        assertThat(images.get(0).label()).isZero();
        assertThat(images.get(1).label()).isEqualTo(1);
    }

    @Test
    void coloursAreNormalisedRedBeforeGreenBeforeBlue() throws Exception {
        CifarFiles.writeJpeg(classFolder().resolve("0.jpg"), new Color(200, 90, 30), 32, 32);

        float[] pixels = JpegFolder.open(folder).orElseThrow().get(0).pixels();

        assertThat(pixels).hasSize(3 * 32 * 32);
        assertThat(pixels[500]).isCloseTo(ColourScale.ofByte(0, 200), within(A_FEW_LEVELS));
        assertThat(pixels[1024 + 500]).isCloseTo(ColourScale.ofByte(1, 90), within(A_FEW_LEVELS));
        assertThat(pixels[2048 + 500]).isCloseTo(ColourScale.ofByte(2, 30), within(A_FEW_LEVELS));
    }

    @Test
    void greyFilesHaveThreeEqualChannelsOfTheirOwnBrightness() throws Exception {
        CifarFiles.writeGreyJpeg(classFolder().resolve("0.jpg"), 100);

        float[] pixels = JpegFolder.open(folder).orElseThrow().get(0).pixels();

        for (int channel = 0; channel < 3; channel++) {
            assertThat(pixels[channel * 1024 + 7]).isCloseTo(ColourScale.ofByte(channel, 100), within(A_FEW_LEVELS));
        }
    }

    @Test
    void aFileIsDecodedWhenItsSampleIsReadAndNotBefore() throws Exception {
        Path images = classFolder();
        CifarFiles.writeJpeg(images.resolve("0.jpg"), Color.BLACK, 32, 32);
        CifarFiles.writeJpeg(images.resolve("1.jpg"), Color.BLACK, 32, 32);
        JpegFolder opened = JpegFolder.open(folder).orElseThrow();
        float black = opened.get(1).pixels()[0];

        CifarFiles.writeJpeg(images.resolve("1.jpg"), Color.WHITE, 32, 32);
        float white = opened.get(1).pixels()[0];
        Files.writeString(images.resolve("1.jpg"), "damaged");

        assertThat(white).isGreaterThan(black + 3);
        assertThatThrownBy(() -> opened.get(1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(images.resolve("1.jpg").toString());
        assertThat(opened.get(0).pixels()[0]).isEqualTo(black);
    }

    @Test
    void theThreadsOfTheLoaderDecode() throws Exception {
        CifarFiles.writeFolder(folder, 10);
        JpegFolder images = JpegFolder.open(folder).orElseThrow();
        Set<String> decoders = ConcurrentHashMap.newKeySet();
        Dataset<ImageSample> watched = new Dataset<>() {
            @Override
            public int size() {
                return images.size();
            }

            @Override
            public ImageSample get(int index) throws IOException {
                decoders.add(Thread.currentThread().getName());
                return images.get(index);
            }
        };

        int seen = 0;
        try (var loader = DataLoader.<ImageSample, List<ImageSample>>builder(
                        watched, new EvalSampler(30, 1, 0), List::copyOf)
                .batchSize(4)
                .workers(2)
                .build()) {
            for (List<ImageSample> batch : loader) {
                seen += batch.size();
            }
        }

        assertThat(seen).isEqualTo(30);
        assertThat(decoders).isNotEmpty().allMatch(name -> name.startsWith("hvd-loader-"));
    }

    @Test
    void aHeaderThatClaimsFourBillionPixelsIsRefusedBeforeMemoryIsTaken() throws Exception {
        Path file = classFolder().resolve("0.jpg");
        CifarFiles.writeJpeg(file, Color.BLUE, 32, 32);
        byte[] bytes = Files.readAllBytes(file);
        ByteBuffer.wrap(bytes).putShort(frame(bytes) + 5, (short) 65_500).putShort(frame(bytes) + 7, (short) 65_500);
        Files.write(file, bytes);

        assertThatThrownBy(() -> JpegFolder.open(folder))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll(file.toString(), "65500x65500 pixels", "expected at most");
    }

    /** Place of the marker behind which length, depth, rows and columns stand. */
    private static int frame(byte[] jpeg) {
        for (int i = 0; i < jpeg.length; i++) {
            if (jpeg[i] == (byte) 0xff && jpeg[i + 1] == (byte) 0xc0) {
                return i;
            }
        }
        throw new AssertionError("no frame");
    }

    @Test
    void whatALoaderThreadCannotDecodeReachesTheTrainingLoopWithTheFilesName() throws Exception {
        Path damaged = classFolder().resolve("1.jpg");
        CifarFiles.writeJpeg(classFolder().resolve("0.jpg"), Color.BLUE, 32, 32);
        Files.write(damaged, new byte[] {1, 2, 3});
        JpegFolder images = JpegFolder.open(folder).orElseThrow();

        try (var loader = DataLoader.<ImageSample, List<ImageSample>>builder(
                        images, new EvalSampler(2, 1, 0), List::copyOf)
                .batchSize(2)
                .workers(1)
                .build()) {
            assertThatThrownBy(() -> loader.iterator().next())
                    .isInstanceOf(DataLoaderException.class)
                    .hasMessageContainingAll("sample 1", damaged.toString());
        }
    }

    @Test
    void anImageOfAnotherSizeIsRefusedWithBothSizes() throws Exception {
        CifarFiles.writeJpeg(classFolder().resolve("0.jpg"), Color.BLUE, 32, 32);
        CifarFiles.writeJpeg(classFolder().resolve("1.jpg"), Color.BLUE, 40, 20);
        JpegFolder images = JpegFolder.open(folder).orElseThrow();

        assertThatThrownBy(() -> images.get(1)).hasMessageContainingAll("1.jpg", "40x20", "32x32", "0.jpg");
    }

    @Test
    void aFolderWithoutImagesIsNone() throws Exception {
        classFolder();

        assertThat(JpegFolder.open(folder)).isEmpty();
        assertThat(JpegFolder.open(folder.resolve("nowhere"))).isEmpty();
    }

    private Path classFolder() throws IOException {
        return Files.createDirectories(folder.resolve("only"));
    }
}
