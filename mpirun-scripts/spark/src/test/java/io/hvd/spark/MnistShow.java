package io.hvd.spark;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.DistributedSampler;
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
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * MNIST's 10,000 test images, of which four fifths are trained on, as a DataFrame on a standalone cluster of two executors, or as the
 * same program under {@code horovodrun}. By hand:
 *
 * <pre>
 * java ... io.hvd.spark.MnistShow spark FOLDER RANKS
 * horovodrun -np RANKS java ... io.hvd.spark.MnistShow horovodrun FOLDER
 * </pre>
 */
final class MnistShow {
    private static final int IMAGES = 10_000;
    private static final int TRAIN = 8_000;
    private static final int PIXELS = 28 * 28;
    private static final int IMAGE_HEADER = 16;
    private static final int LABEL_HEADER = 8;
    private static final int BATCH = 32;
    private static final int EPOCHS = 10;

    private MnistShow() {}

    /** What a rank tells. */
    private record Told(int rank, long pid, int rows, double seconds, byte[] model) implements Serializable {
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
        Path folder = Path.of(arguments[1]);
        if (arguments[0].equals("spark")) {
            onSpark(folder, Integer.parseInt(arguments[2]));
        } else {
            underHorovodrun(folder);
        }
    }

    private static byte[] bytes(Path file) throws IOException {
        try (InputStream in = new GZIPInputStream(Files.newInputStream(file))) {
            return in.readAllBytes();
        }
    }

    /** The places of the images in an order in which the first ones are those to train on. */
    private static int[] order() {
        List<Integer> order = new ArrayList<>(IntStream.range(0, IMAGES).boxed().toList());
        java.util.Collections.shuffle(order, new Random(28));
        return order.stream().mapToInt(Integer::intValue).toArray();
    }

    private record Sample(byte[] pixels, int label) {}

    private static List<Sample> samples(Path folder) throws IOException {
        byte[] images = bytes(folder.resolve("t10k-images-idx3-ubyte.gz"));
        byte[] labels = bytes(folder.resolve("t10k-labels-idx1-ubyte.gz"));
        List<Sample> samples = new ArrayList<>();
        for (int place : order()) {
            int at = IMAGE_HEADER + place * PIXELS;
            samples.add(new Sample(Arrays.copyOfRange(images, at, at + PIXELS), labels[LABEL_HEADER + place]));
        }
        return samples;
    }

    private static Mlp.Batch batch(List<Sample> samples) {
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

    private static void underHorovodrun(Path folder) throws Exception {
        long begun = System.nanoTime();
        List<Sample> all = samples(folder);
        try (HvdContext hvd = Hvd.init()) {
            List<Sample> train = all.subList(0, TRAIN);
            Told told = timed(hvd, train.size() / hvd.size(), mlp -> {
                try (var loader = DataLoader.<Sample, Mlp.Batch>builder(
                                io.hvd.data.Dataset.of(train),
                                new DistributedSampler(TRAIN, hvd.size(), hvd.rank()),
                                MnistShow::batch)
                        .batchSize(BATCH)
                        .build()) {
                    mlp.train(hvd, EPOCHS, loader, one -> one);
                }
            });
            double accuracy = Mlp.load(told.model).accuracy(batch(all.subList(TRAIN, IMAGES)));
            System.out.printf(
                    Locale.ROOT, "%s, accuracy %.4f, ready after %.1f s%n", told.words(), accuracy, since(begun));
        }
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

    private static double since(long begun) {
        return (System.nanoTime() - begun) / 1e9;
    }

    private static void onSpark(Path folder, int ranks) throws Exception {
        Path home = Files.createTempDirectory("hvd-mnist");
        try (StandaloneCluster cluster = new StandaloneCluster(home, 2, ranks / 2, List.of());
                SparkSession spark = SparkIT.session(
                        cluster,
                        Map.of(
                                "spark.executor.cores",
                                String.valueOf(ranks / 2),
                                "spark.executor.extraJavaOptions",
                                "-XX:+UseSerialGC"))) {
            Dataset<Row> images =
                    images(spark, samples(folder)).repartition(ranks).cache();
            Dataset<Row> train = images.filter("place < " + TRAIN);
            System.out.println(images.count() + " images");
            long begun = System.nanoTime();
            List<Told> told = HvdSpark.train(
                    train,
                    SparkOptions.of(ranks).withBatchRows(BATCH),
                    RowColumns.of("pixels", "label"),
                    MnistShow::train);
            System.out.printf(Locale.ROOT, "trained after %.1f s%n", since(begun));
            told.forEach(one -> System.out.println(one.words()));
            begun = System.nanoTime();
            Dataset<Row> predicted = HvdSpark.predict(
                    images.filter("place >= " + TRAIN),
                    OutputColumn.ofInt("digit").from("pixels"),
                    told.get(0).model(),
                    bytes -> {
                        Mlp mlp = Mlp.load(bytes);
                        return batch -> mlp.classes(batch.floats("pixels"));
                    });
            double share = predicted.filter("digit = label").count() / (double) (IMAGES - TRAIN);
            System.out.printf(Locale.ROOT, "accuracy of the predictions %.4f, %.1f s%n", share, since(begun));
        }
    }

    private static Told train(HvdContext hvd, SparkRows rows) throws Exception {
        return timed(hvd, rows.size(), mlp -> {
            try (DataLoader<ColumnBatch, ColumnBatch> loader = rows.loader().build()) {
                mlp.train(hvd, EPOCHS, loader, Mlp.Batch::of);
            }
        });
    }

    private static Dataset<Row> images(SparkSession spark, List<Sample> samples) {
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
