package io.hvd.examples.data;

import static io.hvd.examples.data.DrawnImages.between;

import io.hvd.data.SplitMix64;

/**
 * One digit of a seven-segment display, somewhere on a 28x28 image.
 *
 * <pre>
 *   -A-
 *  F   B
 *   -G-
 *  E   C
 *   -D-
 * </pre>
 *
 * @param segments bit 0 = A to bit 6 = G
 * @param left pixels from the left edge to the segments F and E, before the slant
 * @param top pixels from the upper edge to the segment A
 * @param slant pixels to the right per pixel upwards
 * @param stroke half the width of a segment, in pixels
 * @param brightness the grey of the segments, 0..1
 */
record SevenSegments(
        int segments, float left, float top, float width, float height, float slant, float stroke, float brightness) {

    private static final int[] SEGMENTS_OF_DIGIT = {
        0b0111111, 0b0000110, 0b1011011, 0b1001111, 0b1100110, 0b1101101, 0b1111101, 0b0000111, 0b1111111, 0b1101111
    };

    /** Both ends of the segments A to G: x in units of the width, y in units of the height. */
    private static final float[][] ENDS = {
        {0, 0, 1, 0},
        {1, 0, 1, 0.5f},
        {1, 0.5f, 1, 1},
        {0, 1, 1, 1},
        {0, 0.5f, 0, 1},
        {0, 0, 0, 0.5f},
        {0, 0.5f, 1, 0.5f}
    };

    /** The digit with a random place and shape within the image. */
    static SevenSegments random(int digit, SplitMix64 random) {
        return new SevenSegments(
                SEGMENTS_OF_DIGIT[digit],
                between(6, 11, random),
                between(3, 8, random),
                between(7, 11, random),
                between(13, 18, random),
                between(-0.15f, 0.25f, random),
                between(0.8f, 1.6f, random),
                between(0.55f, 1, random));
    }

    /** The brightness of the middle of a pixel; segments have a soft edge of one pixel. */
    float ink(int x, int y) {
        float upright = x - left - slant * (top + height - y);
        float nearest = Float.MAX_VALUE;
        for (int segment = 0; segment < ENDS.length; segment++) {
            if ((segments >> segment & 1) == 1) {
                nearest = Math.min(nearest, distance(upright, y - top, ENDS[segment]));
            }
        }
        return brightness * Math.max(0, Math.min(1, stroke + 0.5f - nearest));
    }

    /** The distance to a segment, which is a box without thickness because segments are parallel to the axes. */
    private float distance(float x, float y, float[] ends) {
        float dx = outside(x, ends[0] * width, ends[2] * width);
        float dy = outside(y, ends[1] * height, ends[3] * height);
        return (float) Math.sqrt(dx * dx + dy * dy);
    }

    private static float outside(float value, float low, float high) {
        return Math.max(0, Math.max(low - value, value - high));
    }
}
