package io.hvd.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares images with the colours that Pillow gives them; {@code images/make_images.py} has made both. */
class ImageColoursTest {
    /** Two decoders round the steps of a JPEG's arithmetic differently. */
    private static final int JPEG_LEVELS = 1;

    @TempDir
    Path folder;

    static Stream<String> values() throws IOException {
        return new String(resource("values.txt"), StandardCharsets.US_ASCII).lines();
    }

    private static byte[] resource(String name) throws IOException {
        try (InputStream in = ImageColoursTest.class.getResourceAsStream("images/" + name)) {
            return in.readAllBytes();
        }
    }

    private Path copy(String name) throws IOException {
        return Files.write(folder.resolve(name), resource(name));
    }

    @ParameterizedTest
    @MethodSource("values")
    void anImageHasTheColoursThatPillowGivesIt(String line) throws Exception {
        String[] words = line.split(" ");
        byte[] wanted = HexFormat.of().parseHex(words[3]);

        JpegImage image = JpegImage.readAsColours(copy(words[0]));

        assertThat(image.columns()).isEqualTo(Integer.parseInt(words[1]));
        assertThat(image.rows()).isEqualTo(Integer.parseInt(words[2]));
        assertThat(image.values()).hasSize(image.bands() * wanted.length / 3);
        boolean exact = Arrays.equals(resource(words[0]), 1, 4, "PNG".getBytes(StandardCharsets.US_ASCII), 0, 3);
        int furthest = 0;
        for (int i = 0; i < wanted.length; i++) {
            int found = image.values()[image.bands() == 1 ? i / 3 : i];
            furthest = Math.max(furthest, Math.abs(found - (wanted[i] & 0xff)));
        }
        assertThat(furthest)
                .as("levels of %s between hvd and Pillow", words[0])
                .isLessThanOrEqualTo(exact ? 0 : JPEG_LEVELS);
    }

    @ParameterizedTest
    @CsvSource({
        "rgb.jpg, 60",
        "progressive.jpg, 60",
        "cmyk.jpg, 60",
        "rgb.jpg, 640",
        "rgb8.png, 60",
        "rgb8.png, 600",
        "interlaced-6-8.png, 700",
        "grey16.png, 400",
        "palette8.png, 300",
        "rgb.jpg, 893"
    })
    void aFileThatEndsEarlyIsRefusedWithItsName(String name, int bytes) throws Exception {
        Path file = folder.resolve(name);
        Files.write(file, Arrays.copyOf(resource(name), bytes));

        assertThatThrownBy(() -> JpegImage.readAsColours(file))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll(file.toString(), "cannot be decoded");
    }

    @ParameterizedTest
    @CsvSource({
        "GIF89a, is a GIF image",
        "RIFF....WEBPVP8, is a WebP image",
        "<html>, is an HTML page",
        "'', is empty",
        "....., is a text that begins with"
    })
    void aFileOfAnotherKindIsRefusedByWhatItHoldsWhateverItsName(String content, String kind) throws Exception {
        Path file = Files.writeString(folder.resolve("a.jpg"), content);

        assertThatThrownBy(() -> JpegImage.readAsColours(file))
                .hasMessageContainingAll(file.toString(), "it " + kind, "expected a JPEG or a PNG");
    }

    @Test
    void bytesBeforeAMarkerAreSkippedAsLibjpegDoes() throws Exception {
        byte[] plain = resource("rgb.jpg");
        byte[] filled = new byte[plain.length + 3];
        System.arraycopy(plain, 0, filled, 0, 3);
        Arrays.fill(filled, 3, 6, (byte) 0xff);
        System.arraycopy(plain, 3, filled, 6, plain.length - 3);

        JpegImage image = JpegImage.readAsColours(Files.write(folder.resolve("filled.jpg"), filled));

        assertThat(image.values())
                .isEqualTo(JpegImage.readAsColours(copy("rgb.jpg")).values());
    }
}
