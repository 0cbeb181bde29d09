package io.hvd.examples.data;

import io.hvd.HvdContext;
import io.hvd.data.Dataset;
import io.hvd.data.mapped.MappedDataset;
import io.hvd.data.mapped.RecordWriter;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Path;

/**
 * Images that one rank of each host has decoded into a file, which all its ranks map. A record is the normalised pixels, then
 * the label.
 */
public final class MappedImages implements Dataset<ImageSample> {
    private final MappedDataset records;

    private MappedImages(MappedDataset records) {
        this.records = records;
    }

    /**
     * Makes sets whose images to train on lie in this file; a collective.
     *
     * @param version says where the images are from; another one has the file built anew
     */
    public static ImageSets of(HvdContext hvd, Path file, String version, ImageSets images) {
        MappedDataset records = MappedDataset.shared(hvd, file, version, writer -> writeAll(images.train(), writer));
        return images.withTrain(new MappedImages(records));
    }

    private static void writeAll(Dataset<ImageSample> images, RecordWriter writer) throws Exception {
        for (int index = 0; index < images.size(); index++) {
            ImageSample image = images.get(index);
            int pixelBytes = Float.BYTES * image.pixels().length;
            ByteBuffer record = ByteBuffer.allocate(pixelBytes + Integer.BYTES).order(ByteOrder.nativeOrder());
            record.asFloatBuffer().put(image.pixels());
            writer.add(record.putInt(pixelBytes, image.label()));
        }
    }

    @Override
    public int size() {
        return records.size();
    }

    @Override
    public ImageSample get(int index) {
        ByteBuffer record = records.get(index);
        FloatBuffer floats = record.asFloatBuffer();
        float[] pixels = new float[floats.remaining() - 1];
        floats.get(pixels);
        return new ImageSample(pixels, record.getInt(Float.BYTES * pixels.length));
    }
}
