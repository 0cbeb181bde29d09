package io.hvd.examples.data;

import io.hvd.file.RegularFile;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.awt.image.Raster;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Iterator;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.stream.ImageInputStream;

/**
 * A decoded image file.
 *
 * @param values values from 0 to 255, pixel by pixel, with the bands of a pixel next to each other
 * @param bands 3 for colour, 1 for grey
 */
record JpegImage(int[] values, int bands, int rows, int columns) {
    private static final int MOST_PIXELS = 1 << 26;

    /** Decodes a file; several threads may call it at once. */
    static JpegImage read(Path file) throws IOException {
        return of(file, decode(file));
    }

    private static JpegImage of(Path file, BufferedImage image) throws IOException {
        Raster raster = image.getRaster();
        int bands = raster.getNumBands();
        if (bands != 1 && bands != ColourScale.CHANNELS) {
            throw new IOException(file + ": found " + bands + " colour bands, expected 1 or " + ColourScale.CHANNELS);
        }
        // A colour raster returns red, green, blue in this order, whatever their order in memory. BufferedImage.getRGB
        // does so too, but it brightens grey images.
        int[] values = raster.getPixels(0, 0, image.getWidth(), image.getHeight(), (int[]) null);
        return new JpegImage(values, bands, image.getHeight(), image.getWidth());
    }

    /**
     * Decodes a JPEG or PNG file whatever its pixels are like: palettes and 16-bit channels become 8-bit colours, and what
     * is transparent becomes black.
     */
    static JpegImage readAsColours(Path file) throws IOException {
        BufferedImage image = decode(file);
        BufferedImage colours = image;
        if (image.getType() != BufferedImage.TYPE_3BYTE_BGR && image.getType() != BufferedImage.TYPE_BYTE_GRAY) {
            colours = new BufferedImage(image.getWidth(), image.getHeight(), BufferedImage.TYPE_3BYTE_BGR);
            Graphics2D into = colours.createGraphics();
            into.drawImage(image, 0, 0, null);
            into.dispose();
        }
        return of(file, colours);
    }

    private static BufferedImage decode(Path file) throws IOException {
        try (ImageInputStream in =
                ImageIO.createImageInputStream(RegularFile.at(file).toFile())) {
            Iterator<ImageReader> readers = ImageIO.getImageReaders(in);
            if (!readers.hasNext()) {
                throw new IOException("it is no image file of a kind that Java knows" + RegularFile.inWords(file));
            }
            ImageReader reader = readers.next();
            try {
                reader.setInput(in, true, true);
                requireUsualSize(reader.getWidth(0), reader.getHeight(0));
                return reader.read(0);
            } finally {
                reader.dispose();
            }
        } catch (IOException | RuntimeException e) {
            throw new IOException(file + " cannot be decoded: " + e.getMessage(), e);
        }
    }

    /** Checks the size before memory is allocated, because a file of a few bytes may claim four billion pixels. */
    private static void requireUsualSize(int columns, int rows) throws IOException {
        if ((long) columns * rows > MOST_PIXELS) {
            throw new IOException(
                    "its header claims " + columns + "x" + rows + " pixels, expected at most " + MOST_PIXELS);
        }
    }

    /** The normalised pixels, row by row, one channel after the other; a grey image gets three equal channels. */
    float[] normalised() {
        int pixels = rows * columns;
        float[] scaled = new float[ColourScale.CHANNELS * pixels];
        for (int channel = 0; channel < ColourScale.CHANNELS; channel++) {
            int band = bands == 1 ? 0 : channel;
            for (int i = 0; i < pixels; i++) {
                scaled[channel * pixels + i] = ColourScale.ofByte(channel, values[i * bands + band]);
            }
        }
        return scaled;
    }
}
