package io.hvd.examples.data;

import io.hvd.data.Dataset;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.GZIPInputStream;

/**
 * 1,797 handwritten digits of 8x8 pixels that are part of the jar, so that an example has real data without a download.
 *
 * <p>E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, CC BY 4.0.
 */
public final class Digits {

    private static final String RESOURCE = "digits.csv.gz";
    private static final int SIDE = 8;
    private static final float WHITE = 16;

    private static final double TRAIN_FRACTION = 0.8;
    private static final long SPLIT_SEED = 8;

    private Digits() {}

    /**
     * Loads the digits with pixels in 0..1, split 80 to 20 in the same way each time: 1,438 to train on, 359 to test
     * on.
     */
    public static ImageSets load() {
        Dataset.Split<ImageSample> split = Dataset.of(read()).split(TRAIN_FRACTION, SPLIT_SEED);
        return ImageSets.ofDigits(split.first(), split.second(), SIDE, SIDE, DataOrigin.SHIPPED);
    }

    private static List<ImageSample> read() {
        try (InputStream resource = Digits.class.getResourceAsStream(RESOURCE);
                var lines = new BufferedReader(
                        new InputStreamReader(new GZIPInputStream(resource), StandardCharsets.US_ASCII))) {
            return lines.lines().map(Digits::parse).toList();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + RESOURCE + " from the jar", e);
        }
    }

    private static ImageSample parse(String line) {
        String[] values = line.split(",");
        float[] pixels = new float[SIDE * SIDE];
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = Integer.parseInt(values[i]) / WHITE;
        }
        return new ImageSample(pixels, Integer.parseInt(values[pixels.length]));
    }
}
