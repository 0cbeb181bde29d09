package io.hvd.spark;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.DistributedSampler;
import io.hvd.data.Permutation;
import io.hvd.spark.columns.ColumnBatch;
import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.zip.GZIPInputStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A net for 10,000 images of 28 x 28 bytes, of which four fifths are trained on: the test images of MNIST, or drawn ones. {@link
 * MnistIT} trains it on Spark. Under horovodrun, by hand, each rank prints its accuracy and its seconds:
 *
 * <pre>
 * mpirun-scripts/horovodrun -np 4 java -cp ... io.hvd.spark.MnistProgram FOLDER
 * </pre>
 */
final class MnistProgram {
    static final int IMAGES = 10_000;
    static final int TRAIN = 8_000;
    private static final int PIXELS = 28 * 28;
    private static final int IMAGE_HEADER = 16;
    private static final int LABEL_HEADER = 8;
    static final int BATCH = 32;
    private static final int EPOCHS = 10;

    private MnistProgram() {}

    /** What a rank tells. */
    record Told(int rank, long pid, int rows, double seconds, byte[] model) implements Serializable {
        String words() {
            return String.format(
                    Locale.ROOT,
                    "rank %d in process %d: %d rows, %.1f s, weights %08x",
                    rank,
                    pid,
                    rows,
                    seconds,
                    Arrays.hashCode(model));
        }
    }

    public static void main(String[] arguments) throws Exception {
        long begun = System.nanoTime();
        List<Sample> all = samples(Path.of(arguments[0]));
        try (HvdContext hvd = Hvd.init()) {
            Told told = train(hvd, all.subList(0, TRAIN));
            double accuracy = Mlp.load(told.model).accuracy(batch(all.subList(TRAIN, IMAGES)));
            System.out.printf(
                    Locale.ROOT, "%s, accuracy %.4f, ready after %.1f s%n", told.words(), accuracy, since(begun));
        }
    }

    private static Told train(HvdContext hvd, List<Sample> all) throws Exception {
        return timed(hvd, all.size() / hvd.size(), mlp -> {
            var sampler = new DistributedSampler(all.size(), hvd.size(), hvd.rank());
            try (var loader = DataLoader.<Sample, Mlp.Batch>builder(
                            io.hvd.data.Dataset.of(all), sampler, MnistProgram::batch)
                    .batchSize(BATCH)
                    .build()) {
                mlp.train(hvd, EPOCHS, loader, one -> one);
            }
        });
    }

    /** The same on Spark. */
    static Told train(HvdContext hvd, SparkRows rows) throws Exception {
        return timed(hvd, rows.size(), mlp -> {
            try (DataLoader<ColumnBatch, ColumnBatch> loader = rows.loader().build()) {
                mlp.train(hvd, EPOCHS, loader, Mlp.Batch::of);
            }
        });
    }

    private static byte[] bytes(Path file) throws IOException {
        try (InputStream in = new GZIPInputStream(Files.newInputStream(file))) {
            return in.readAllBytes();
        }
    }

    record Sample(byte[] pixels, int label) {}

    /** Patterns of ten classes under noise, for a machine without MNIST. */
    static List<Sample> drawn() {
        Random random = new Random(5);
        byte[][] patterns = new byte[Mlp.CLASSES][PIXELS];
        for (byte[] pattern : patterns) {
            random.nextBytes(pattern);
        }
        List<Sample> samples = new ArrayList<>();
        for (int i = 0; i < IMAGES; i++) {
            byte[] pixels = new byte[PIXELS];
            random.nextBytes(pixels);
            for (int p = 0; p < PIXELS; p += 3) {
                pixels[p] = patterns[i % Mlp.CLASSES][p];
            }
            samples.add(new Sample(pixels, i % Mlp.CLASSES));
        }
        return samples;
    }

    /** MNIST's, in an order in which the first ones are those to train on. */
    static List<Sample> samples(Path folder) throws IOException {
        byte[] images = bytes(folder.resolve("t10k-images-idx3-ubyte.gz"));
        byte[] labels = bytes(folder.resolve("t10k-labels-idx1-ubyte.gz"));
        List<Sample> samples = new ArrayList<>();
        for (int place : Permutation.of(IMAGES, 28)) {
            int at = IMAGE_HEADER + place * PIXELS;
            samples.add(new Sample(Arrays.copyOfRange(images, at, at + PIXELS), labels[LABEL_HEADER + place]));
        }
        return samples;
    }

    static Mlp.Batch batch(List<Sample> samples) {
        float[] pixels = new float[samples.size() * PIXELS];
        int[] labels = new int[samples.size()];
        for (int row = 0; row < labels.length; row++) {
            Sample sample = samples.get(row);
            labels[row] = sample.label;
            for (int p = 0; p < PIXELS; p++) {
                pixels[row * PIXELS + p] = Byte.toUnsignedInt(sample.pixels[p]);
            }
        }
        return new Mlp.Batch(pixels, labels);
    }

    private interface Training {
        void run(Mlp mlp) throws Exception;
    }

    private static Told timed(HvdContext hvd, int rows, Training training) throws Exception {
        long begun = System.nanoTime();
        Mlp mlp = new Mlp(PIXELS, 1 / 255f);
        training.run(mlp);
        return new Told(hvd.rank(), ProcessHandle.current().pid(), rows, since(begun), mlp.save());
    }

    static double since(long begun) {
        return (System.nanoTime() - begun) / 1e9;
    }

    static Dataset<Row> images(SparkSession spark, List<Sample> samples) {
        List<Row> rows = new ArrayList<>();
        for (Sample sample : samples) {
            rows.add(RowFactory.create(rows.size(), sample.pixels, sample.label));
        }
        return spark.createDataFrame(
                rows,
                new StructType()
                        .add("place", DataTypes.IntegerType)
                        .add("pixels", DataTypes.BinaryType)
                        .add("label", DataTypes.IntegerType));
    }
}
