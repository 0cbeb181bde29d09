package io.hvd.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.awt.Color;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PhotoSetsTest {
    private static final float A_FEW_LEVELS = 4 / 255f / 0.22f;
    private static final int SIDE = 8;

    @TempDir
    Path folder;

    private Path classFolder(String part, String name) throws IOException {
        return Files.createDirectories(folder.resolve(part).resolve(name));
    }

    private PhotoSets open() throws IOException {
        return PhotoSets.open(folder.resolve("train"), folder.resolve("val"));
    }

    @Test
    void imagesOfAnySizesBecomeSamplesOfOneSize() throws Exception {
        CifarFiles.writeJpeg(classFolder("train", "ant").resolve("a.JPEG"), Color.RED, 100, 40);
        CifarFiles.writeJpeg(classFolder("train", "bee").resolve("b.jpg"), Color.BLUE, 17, 33);
        CifarFiles.writeJpeg(classFolder("val", "ant").resolve("a.jpg"), Color.GREEN, 300, 200);
        CifarFiles.writeJpeg(classFolder("val", "bee").resolve("b.jpg"), Color.BLUE, 5, 4);

        PhotoSets photos = open();
        ImageSets sets = photos.sets(photos.randomCrops(SIDE, 1, false), SIDE);

        assertThat(photos.classes()).isEqualTo(2);
        assertThat(sets.origin()).isEqualTo(DataOrigin.FILES);
        assertThat(sets.train().size()).isEqualTo(2);
        assertThat(sets.train().get(0).label()).isZero();
        assertThat(sets.train().get(0).pixels()).hasSize(3 * SIDE * SIDE);
        assertThat(sets.train().get(1).label()).isEqualTo(1);
        float[] green = sets.test().get(0).pixels();
        assertThat(green).hasSize(3 * SIDE * SIDE);
        assertThat(green[0]).isCloseTo(ImageNetScale.of(0, 0), within(A_FEW_LEVELS));
        assertThat(green[SIDE * SIDE]).isCloseTo(ImageNetScale.of(1, 255), within(A_FEW_LEVELS));
        assertThat(sets.test().get(1).pixels()).hasSize(3 * SIDE * SIDE);
    }

    @ParameterizedTest
    @CsvSource({
        BufferedImage.TYPE_INT_RGB + ", 200, 90, 30",
        BufferedImage.TYPE_INT_ARGB + ", 200, 90, 30",
        BufferedImage.TYPE_BYTE_INDEXED + ", 204, 102, 51",
        BufferedImage.TYPE_BYTE_BINARY + ", 255, 255, 255",
        BufferedImage.TYPE_USHORT_555_RGB + ", 206, 90, 33",
    })
    void pngFilesOfAllKindsOfPixelsAreRead(int type, int red, int green, int blue) throws Exception {
        BufferedImage image = new BufferedImage(6, 5, type);
        Color wanted = type == BufferedImage.TYPE_BYTE_BINARY ? Color.WHITE : new Color(red, green, blue);
        for (int i = 0; i < 30; i++) {
            image.setRGB(i % 6, i / 6, wanted.getRGB());
        }
        Path file = classFolder("train", "ant").resolve("a.png");
        assertThat(ImageIO.write(image, "png", file.toFile())).isTrue();

        JpegImage read = PhotoFolder.open(folder.resolve("train")).read(0);

        assertThat(read.rows()).isEqualTo(5);
        float[] pixels = Crop.central(6, 5, 1).resized(read, 1);
        assertThat(pixels[0]).isCloseTo(ImageNetScale.of(0, red), within(A_FEW_LEVELS));
        assertThat(pixels[1]).isCloseTo(ImageNetScale.of(1, green), within(A_FEW_LEVELS));
        assertThat(pixels[2]).isCloseTo(ImageNetScale.of(2, blue), within(A_FEW_LEVELS));
    }

    @Test
    void eachEpochHasOtherPartsAndASeedTheSameOnes() throws Exception {
        PhotoSets photos = PhotoSets.drawn(6, 2, 3, 32, 5);
        RandomCrops crops = photos.randomCrops(SIDE, 1, false);
        float[] first = crops.get(4).pixels();
        crops.setEpoch(1);
        float[] second = crops.get(4).pixels();
        crops.setEpoch(0);

        assertThat(second).isNotEqualTo(first);
        assertThat(crops.get(4).pixels()).isEqualTo(first);
        assertThat(PhotoSets.drawn(6, 2, 3, 32, 5)
                        .randomCrops(SIDE, 1, true)
                        .get(4)
                        .pixels())
                .isEqualTo(first);
        assertThat(photos.randomCrops(SIDE, 2, false).get(4).pixels()).isNotEqualTo(first);
    }

    @Test
    void drawnImagesHaveDifferentSizesAndLabelsOfAllClasses() {
        DrawnPhotos drawn = new DrawnPhotos(60, 3, 64, 9);
        Set<Integer> labels = new HashSet<>();
        Set<Integer> widths = new HashSet<>();
        for (int i = 0; i < drawn.size(); i++) {
            JpegImage image = drawn.read(i);
            assertThat(image.columns()).isBetween(32, 64);
            assertThat(image.rows()).isBetween(32, 64);
            assertThat(image.values()).hasSize(3 * image.rows() * image.columns());
            labels.add(drawn.label(i));
            widths.add(image.columns());
        }
        assertThat(labels).containsExactlyInAnyOrder(0, 1, 2);
        assertThat(widths).hasSizeGreaterThan(10);
    }

    @Test
    void aDamagedFileIsNamedOrReplacedByTheNextOneAndNamedOnce() throws Exception {
        Path damaged = classFolder("train", "ant").resolve("a.jpg");
        Files.writeString(damaged, "no image");
        CifarFiles.writeJpeg(classFolder("train", "bee").resolve("b.jpg"), Color.BLUE, 20, 20);
        CifarFiles.writeJpeg(classFolder("val", "ant").resolve("a.jpg"), Color.BLUE, 20, 20);
        classFolder("val", "bee");
        PhotoSets photos = open();

        assertThatThrownBy(() -> photos.randomCrops(SIDE, 1, false).get(0))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll(damaged.toString(), "cannot be decoded");
        RandomCrops skipping = photos.randomCrops(SIDE, 1, true);
        assertThat(skipping.get(0).label())
                .as("the class of what is in its place")
                .isEqualTo(1);
        skipping.get(0);
        skipping.get(1);
        assertThat(skipping.skipped())
                .hasSize(1)
                .allSatisfy(each -> assertThat(each).contains(damaged.toString()));
    }

    @Test
    void ifNoFileCanBeDecodedTheLastOneIsNamed() throws Exception {
        Files.writeString(classFolder("train", "ant").resolve("a.jpg"), "no image");
        Files.writeString(classFolder("train", "ant").resolve("b.jpg"), "no image");
        RandomCrops crops = new RandomCrops(PhotoFolder.open(folder.resolve("train")), SIDE, 1, true);

        assertThatThrownBy(() -> crops.get(0)).hasMessageContaining("b.jpg");
    }

    @Test
    void foldersThatAreMissingOrEmptyOrOfOtherClassesAreNamed() throws Exception {
        assertThatThrownBy(this::open).hasMessageContainingAll("train", "there is no such folder");
        classFolder("train", "ant");
        assertThatThrownBy(this::open).hasMessageContainingAll("train", "no images", "*.png");
        CifarFiles.writeJpeg(classFolder("train", "ant").resolve("a.jpg"), Color.BLUE, 20, 20);
        CifarFiles.writeJpeg(classFolder("val", "wasp").resolve("a.jpg"), Color.BLUE, 20, 20);
        assertThatThrownBy(this::open).hasMessageContainingAll("[ant]", "[wasp]");
    }
}
