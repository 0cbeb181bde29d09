package io.hvd.spark.columns;

import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;

/**
 * A column of images, as Spark's data source {@code image} reads them: rows of pixels from the top, each pixel's bytes in OpenCV's
 * order, blue, green, red and alpha. The elements are those of the torch convention: channels, height, width, with red first.
 */
record Images() implements ColumnKind {
    static final Fields FIELDS = new Fields(Map.of(
            "height", DataTypes.IntegerType,
            "width", DataTypes.IntegerType,
            "nChannels", DataTypes.IntegerType,
            "mode", DataTypes.IntegerType,
            "data", DataTypes.BinaryType));

    /** OpenCV's number of a type is 8 for each channel beyond the first, and 0 for bytes. */
    private static final int MODES_PER_CHANNEL = 8;

    private static final Set<Integer> CHANNELS = Set.of(1, 3, 4);

    @Override
    public DType dtype() {
        return DType.UINT8;
    }

    @Override
    public Elements decode(Object value) throws BadValueException {
        Row image = (Row) value;
        int height = field(image, "height");
        int width = field(image, "width");
        int channels = field(image, "nChannels");
        byte[] data = field(image, "data");
        require(height, width, channels, field(image, "mode"), data.length);
        return new Elements(planes(data, channels, height * width), Shape.of(channels, height, width));
    }

    private static <T> T field(Row image, String name) throws BadValueException {
        T value = image.getAs(name);
        if (value == null) {
            throw new BadValueException("is an image whose field " + name + " is null");
        }
        return value;
    }

    private static void require(int height, int width, int channels, int mode, int bytes) throws BadValueException {
        boolean known = CHANNELS.contains(channels) && mode == MODES_PER_CHANNEL * (channels - 1);
        if (!known || height < 1 || width < 1 || (long) height * width * channels != bytes) {
            throw new BadValueException("is an image with height " + height + ", width " + width + ", nChannels "
                    + channels + ", mode " + mode + " and " + bytes + " bytes of data, expected 1, 3 or 4 channels of"
                    + " bytes (mode 0, 16 or 24) and height x width x nChannels bytes; the option dropInvalid of the"
                    + " data source leaves out files that are no images");
        }
    }

    private static byte[] planes(byte[] data, int channels, int pixels) {
        byte[] planes = new byte[data.length];
        for (int channel = 0; channel < channels; channel++) {
            int place = channel < 3 && channels >= 3 ? 2 - channel : channel;
            for (int pixel = 0; pixel < pixels; pixel++) {
                planes[channel * pixels + pixel] = data[pixel * channels + place];
            }
        }
        return planes;
    }
}
