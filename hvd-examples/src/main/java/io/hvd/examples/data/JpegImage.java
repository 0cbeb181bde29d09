package io.hvd.examples.data;

import io.hvd.file.RegularFile;
import java.awt.image.BufferedImage;
import java.awt.image.ColorModel;
import java.awt.image.IndexColorModel;
import java.awt.image.Raster;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.stream.MemoryCacheImageInputStream;

/**
 * A decoded image file, with the colours that Pillow's {@code Image.open(file).convert("RGB")} gives, as torchvision's loader
 * does: colours stay as they are stored, whatever is transparent, whatever profile goes along and however the camera was held.
 *
 * @param values values from 0 to 255, pixel by pixel, with the bands of a pixel next to each other
 * @param bands 3 for colour, 1 for grey
 */
record JpegImage(int[] values, int bands, int rows, int columns) {
    private static final int MOST_PIXELS = 1 << 26;
    private static final String PNG_BEGINS = "\u0089PNG\r\n\u001a\n";

    /** Decodes a JPEG or PNG file, whatever the ending of its name; several threads may call it at once. */
    static JpegImage readAsColours(Path file) throws IOException {
        try {
            byte[] bytes = Files.readAllBytes(RegularFile.at(file));
            if (PlainJpeg.isJpeg(bytes)) {
                return ofJpeg(PlainJpeg.of(bytes));
            }
            if (begins(bytes, PNG_BEGINS)) {
                return read("png", bytes, reader -> ofPixels(reader.read(0)));
            }
            String kind = RegularFile.recognise(file).orElse("is no image file of a kind that hvd knows");
            throw new IOException("it " + kind + ", expected a JPEG or a PNG");
        } catch (IOException | RuntimeException e) {
            throw new IOException(file + " cannot be decoded: " + e.getMessage(), e);
        }
    }

    private static boolean begins(byte[] bytes, String beginning) {
        return new String(bytes, 0, Math.min(bytes.length, beginning.length()), StandardCharsets.ISO_8859_1)
                .equals(beginning);
    }

    private static JpegImage ofJpeg(PlainJpeg jpeg) throws IOException {
        return read("jpeg", jpeg.bytes(), reader -> switch (jpeg.colours()) {
            case GREY, RGB, YCC -> ofPixels(reader.read(0));
            case CMYK -> ofInks(reader.readRaster(0, null), false);
            case YCCK -> ofInks(reader.readRaster(0, null), true);
        });
    }

    /** Makes an image of what a reader holds. */
    @FunctionalInterface
    private interface Decoding {
        JpegImage decode(ImageReader reader) throws IOException;
    }

    private static JpegImage read(String format, byte[] bytes, Decoding decoding) throws IOException {
        ImageReader reader = ImageIO.getImageReadersByFormatName(format).next();
        try (var in = new MemoryCacheImageInputStream(new ByteArrayInputStream(bytes))) {
            reader.setInput(in, true, true);
            requireUsualSize(reader.getWidth(0), reader.getHeight(0));
            return decoding.decode(reader);
        } finally {
            reader.dispose();
        }
    }

    /** Checks the size before memory is allocated, because a file of a few bytes may claim four billion pixels. */
    private static void requireUsualSize(int columns, int rows) throws IOException {
        if ((long) columns * rows > MOST_PIXELS) {
            throw new IOException(
                    "its header claims " + columns + "x" + rows + " pixels, expected at most " + MOST_PIXELS);
        }
    }

    /** Takes the samples as they are stored; a colour model of Java's would brighten grey and blend what is transparent. */
    private static JpegImage ofPixels(BufferedImage image) {
        Raster raster = image.getRaster();
        int columns = raster.getWidth();
        int rows = raster.getHeight();
        int[] stored = raster.getPixels(0, 0, columns, rows, (int[]) null);
        ColorModel model = image.getColorModel();
        if (model instanceof IndexColorModel palette) {
            return new JpegImage(ofPalette(stored, palette), ColourScale.CHANNELS, rows, columns);
        }
        int storedBands = raster.getNumBands();
        int bands = storedBands == 1 ? 1 : ColourScale.CHANNELS;
        int[] values = new int[bands * rows * columns];
        for (int i = 0; i < values.length; i++) {
            int band = storedBands < ColourScale.CHANNELS ? 0 : i % bands; // grey with transparency has one colour
            values[i] = stored[i / bands * storedBands + band] >> model.getComponentSize(band) - Byte.SIZE;
        }
        return new JpegImage(values, bands, rows, columns);
    }

    private static int[] ofPalette(int[] stored, IndexColorModel palette) {
        int[] values = new int[ColourScale.CHANNELS * stored.length];
        for (int i = 0; i < stored.length; i++) {
            values[3 * i] = palette.getRed(stored[i]);
            values[3 * i + 1] = palette.getGreen(stored[i]);
            values[3 * i + 2] = palette.getBlue(stored[i]);
        }
        return values;
    }

    /** Four inks as Adobe stores them, 255 where there is none. @param luminance whether the first three are to be converted first */
    private static JpegImage ofInks(Raster raster, boolean luminance) {
        int columns = raster.getWidth();
        int rows = raster.getHeight();
        int[] inks = raster.getPixels(0, 0, columns, rows, (int[]) null);
        int[] values = new int[ColourScale.CHANNELS * rows * columns];
        for (int i = 0; i < rows * columns; i++) {
            if (luminance) {
                toCmy(inks, 4 * i);
            }
            int paper = inks[4 * i + 3];
            for (int band = 0; band < ColourScale.CHANNELS; band++) {
                values[3 * i + band] = Math.max(0, paper - ofByte((255 - inks[4 * i + band]) * paper));
            }
        }
        return new JpegImage(values, ColourScale.CHANNELS, rows, columns);
    }

    /** The 255th part of a product of two bytes, rounded. */
    private static int ofByte(int product) {
        return (product + 128 + (product + 128 >> 8)) >> 8;
    }

    /** Luminance and two differences of colour become three inks, with the factors of the JFIF standard. */
    private static void toCmy(int[] inks, int at) {
        int luminance = inks[at];
        int blue = inks[at + 1] - 128;
        int red = inks[at + 2] - 128;
        inks[at] = clipped(255 - (luminance + 1.402 * red));
        inks[at + 1] = clipped(255 - (luminance - 0.344136 * blue - 0.714136 * red));
        inks[at + 2] = clipped(255 - (luminance + 1.772 * blue));
    }

    private static int clipped(double value) {
        return (int) Math.max(0, Math.min(255, Math.rint(value)));
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
