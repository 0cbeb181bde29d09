package io.hvd.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.data.SplitMix64;
import org.junit.jupiter.api.Test;

class CropTest {
    @Test
    void aRandomPartLiesWithinTheImageAndHasAreaAndSidesOfTheRecipe() {
        SplitMix64 random = new SplitMix64(3);
        int flipped = 0;
        double smallest = 1;
        double largest = 0;
        for (int i = 0; i < 2_000; i++) {
            Crop crop = Crop.random(120, 90, random);
            double share = crop.width() * crop.height() / (120 * 90);
            assertThat(crop.left()).isBetween(0.0, 120 - crop.width());
            assertThat(crop.top()).isBetween(0.0, 90 - crop.height());
            assertThat(share).isBetween(0.07, 1.0);
            assertThat(crop.width() / crop.height()).isBetween(0.72, 1.38);
            smallest = Math.min(smallest, share);
            largest = Math.max(largest, share);
            flipped += crop.flipped() ? 1 : 0;
        }
        assertThat(flipped).isBetween(900, 1_100);
        assertThat(smallest).isLessThan(0.1);
        assertThat(largest).isGreaterThan(0.9);
    }

    @Test
    void ofANarrowImageItIsTheLargestPartInTheMiddleWithSuchSides() {
        Crop wide = Crop.random(1_000, 30, new SplitMix64(1));
        assertThat(wide.width()).isCloseTo(40, within(1e-9));
        assertThat(wide.height()).isEqualTo(30);
        assertThat(wide.left()).isCloseTo(480, within(1e-9));
        Crop high = Crop.random(1, 1, new SplitMix64(1));
        assertThat(high.width()).isEqualTo(1);
    }

    @Test
    void theMiddleIsASquareOfSevenEighthsOfTheShorterSide() {
        assertThat(Crop.central(320, 256, 0.875)).isEqualTo(new Crop(48, 16, 224, 224, false));
    }

    /** One row of four pixels, of which the triangle around each new pixel covers three. */
    @Test
    void aSmallerImageIsTheMeanOfTheCoveredPixelsWeightedByATriangle() {
        int[] row = {0, 10, 20, 30};
        int[] values = new int[4 * 4];
        for (int i = 0; i < values.length; i++) {
            values[i] = row[i % 4];
        }
        float[] half = new Crop(0, 0, 4, 4, false).resized(new JpegImage(values, 1, 4, 4), 2);

        float left = (0.75f * 0 + 0.75f * 10 + 0.25f * 20) / 1.75f;
        float right = (0.25f * 10 + 0.75f * 20 + 0.75f * 30) / 1.75f;
        for (int channel = 0; channel < 3; channel++) {
            for (int y = 0; y < 2; y++) {
                int at = (channel * 2 + y) * 2;
                assertThat(half[at]).isCloseTo(ImageNetScale.of(channel, left), within(1e-5f));
                assertThat(half[at + 1]).isCloseTo(ImageNetScale.of(channel, right), within(1e-5f));
            }
        }
    }

    @Test
    void anImageOfTheWantedSizeStaysAsItIsAndAFlippedOneIsMirrored() {
        int[] values = new int[5 * 5 * 3];
        for (int i = 0; i < values.length; i++) {
            values[i] = 7 * i % 256;
        }
        JpegImage image = new JpegImage(values, 3, 5, 5);

        float[] same = new Crop(0, 0, 5, 5, false).resized(image, 5);
        float[] mirrored = new Crop(0, 0, 5, 5, true).resized(image, 5);

        for (int i = 0; i < 25; i++) {
            for (int channel = 0; channel < 3; channel++) {
                float expected = ImageNetScale.of(channel, values[3 * i + channel]);
                assertThat(same[25 * channel + i]).isCloseTo(expected, within(1e-4f));
                assertThat(mirrored[25 * channel + i / 5 * 5 + 4 - i % 5]).isCloseTo(expected, within(1e-4f));
            }
        }
    }

    /** Every part of an image of one colour has this colour, also beyond the middle of the last pixels and enlarged. */
    @Test
    void nothingIsAddedAtTheEdges() {
        int[] grey = new int[9 * 7];
        java.util.Arrays.fill(grey, 100);
        JpegImage image = new JpegImage(grey, 1, 7, 9);

        for (Crop crop :
                new Crop[] {new Crop(0, 0, 9, 7, false), new Crop(8.5, 6.5, 0.5, 0.5, false), new Crop(3, 2, 2, 5, true)
                }) {
            assertThat(crop.resized(image, 16)).hasSize(3 * 16 * 16);
            assertThat(crop.resized(image, 16)[255]).isCloseTo(ImageNetScale.of(0, 100), within(1e-4f));
            assertThat(crop.resized(image, 2)[0]).isCloseTo(ImageNetScale.of(0, 100), within(1e-4f));
        }
    }
}
