package io.hvd.spark;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** What the tests run on Spark; executors have this class, and nothing of JUnit's. */
final class SparkPrograms {
    static final int CLASSES = 10;
    static final int PIXELS = 64;
    private static final float RATE = 0.5f;

    private SparkPrograms() {}

    /** Who a rank is, and what it has computed with the others. */
    record Seen(int rank, int boundRank, int size, int localRank, int localSize, String backend, long pid, float sum)
            implements Serializable {}

    static Seen look(HvdContext hvd) {
        return new Seen(
                hvd.rank(),
                Hvd.rank(),
                hvd.size(),
                hvd.localRank(),
                hvd.localSize(),
                hvd.backend(),
                ProcessHandle.current().pid(),
                sum(hvd));
    }

    static float sum(HvdContext hvd) {
        Tensor sum = hvd.allreduce("sum", Tensor.of(new float[] {hvd.rank() + 1}), AllreduceOptions.of(ReduceOp.SUM));
        return ((float[]) sum.toArray())[0];
    }

    /** Waits for a rank that never comes: the last one does other things. */
    static float waitForever(HvdContext hvd) {
        if (hvd.rank() == hvd.size() - 1) {
            while (true) {
                hvd.allreduce("of the last rank alone", Tensor.of(1f));
            }
        }
        return sum(hvd);
    }

    /** Fails on one rank while the others wait for it. */
    static float failOn(int rank, Throwable failure, HvdContext hvd) throws Exception {
        if (hvd.rank() == rank) {
            if (failure instanceof Error error) {
                throw error;
            }
            throw (Exception) failure;
        }
        return sum(hvd);
    }

    /** Images of ten classes, each a pattern of its own under noise, as a DataFrame. */
    static Dataset<Row> digits(SparkSession spark, int rows) {
        float[][] patterns = new float[CLASSES][PIXELS];
        Random random = new Random(43);
        for (float[] pattern : patterns) {
            for (int i = 0; i < PIXELS; i++) {
                pattern[i] = random.nextFloat();
            }
        }
        List<Row> images = new ArrayList<>();
        for (int row = 0; row < rows; row++) {
            List<Float> pixels = new ArrayList<>();
            for (int i = 0; i < PIXELS; i++) {
                pixels.add(patterns[row % CLASSES][i] + 0.2f * (float) random.nextGaussian());
            }
            images.add(RowFactory.create(row % CLASSES, pixels));
        }
        return spark.createDataFrame(
                images,
                new StructType()
                        .add("label", DataTypes.IntegerType)
                        .add("pixels", DataTypes.createArrayType(DataTypes.FloatType)));
    }

    /**
     * What training has given on one rank.
     *
     * @param firstStep the step with which it began, more than 0 after a checkpoint
     */
    record Trained(int rank, int firstStep, int steps, int weights, double accuracy) implements Serializable {}

    /** The accuracy on this rank's rows. */
    static double train(HvdContext hvd, RowBatches<Row> rows, int epochs) throws Exception {
        Path folder = Files.createTempDirectory("hvd-spark");
        try {
            return train(hvd, rows, epochs, folder, -1).accuracy();
        } finally {
            Files.deleteIfExists(folder.resolve("checkpoint"));
            Files.delete(folder);
        }
    }

    /**
     * Softmax regression with averaged gradients; rank 0 writes a checkpoint after each epoch.
     *
     * @param deadly rank 3 kills its executor once in this step; -1 for never
     */
    static Trained train(HvdContext hvd, RowBatches<Row> rows, int epochs, Path folder, int deadly) throws Exception {
        float[] weights = new float[CLASSES * PIXELS];
        Path checkpoint = folder.resolve("checkpoint");
        int first = 0;
        if (Files.exists(checkpoint)) {
            List<String> words = Files.readAllLines(checkpoint);
            first = Integer.parseInt(words.get(0));
            for (int i = 0; i < weights.length; i++) {
                weights[i] = Float.parseFloat(words.get(i + 1));
            }
        }
        int step = first;
        for (int epoch = first / rows.size(); epoch < epochs; epoch++) {
            for (List<Row> batch : rows) {
                if (step == deadly && hvd.rank() == 3 && !Files.exists(folder.resolve("killed"))) {
                    Files.createFile(folder.resolve("killed"));
                    new ProcessBuilder(
                                    "kill",
                                    "-9",
                                    String.valueOf(ProcessHandle.current().pid()))
                            .start();
                    LockSupport.park();
                }
                float[] gradient = (float[]) hvd.allreduce("gradient", Tensor.of(gradient(weights, batch)))
                        .toArray();
                for (int i = 0; i < weights.length; i++) {
                    weights[i] -= RATE * gradient[i];
                }
                step++;
            }
            if (hvd.rank() == 0) {
                write(checkpoint, step, weights);
            }
        }
        requireSame(hvd, Arrays.hashCode(weights));
        long right = rows.rows().stream()
                .filter(row -> best(scores(weights, pixels(row))) == row.getInt(0))
                .count();
        return new Trained(
                hvd.rank(),
                first,
                step,
                Arrays.hashCode(weights),
                (double) right / rows.rows().size());
    }

    private static void requireSame(HvdContext hvd, int weights) {
        int[] all =
                (int[]) hvd.allgather("weights", Tensor.of(new int[] {weights})).toArray();
        if (Arrays.stream(all).distinct().count() > 1) {
            throw new IllegalStateException("the ranks have other weights: " + Arrays.toString(all));
        }
    }

    private static void write(Path checkpoint, int step, float[] weights) throws IOException {
        List<Float> all = new ArrayList<>();
        for (float weight : weights) {
            all.add(weight);
        }
        Path written = checkpoint.resolveSibling("checkpoint.new");
        Files.writeString(
                written,
                Stream.concat(Stream.of(String.valueOf(step)), all.stream().map(String::valueOf))
                        .collect(Collectors.joining("\n")));
        Files.move(written, checkpoint, StandardCopyOption.ATOMIC_MOVE);
    }

    private static List<Float> pixels(Row row) {
        return row.getList(1);
    }

    private static float[] gradient(float[] weights, List<Row> batch) {
        float[] gradient = new float[weights.length];
        for (Row row : batch) {
            List<Float> pixels = pixels(row);
            double[] scores = scores(weights, pixels);
            double most = Arrays.stream(scores).max().orElseThrow();
            double all =
                    Arrays.stream(scores).map(score -> Math.exp(score - most)).sum();
            for (int c = 0; c < CLASSES; c++) {
                double error = Math.exp(scores[c] - most) / all - (c == row.getInt(0) ? 1 : 0);
                for (int i = 0; i < PIXELS; i++) {
                    gradient[c * PIXELS + i] += (float) (error * pixels.get(i) / batch.size());
                }
            }
        }
        return gradient;
    }

    private static double[] scores(float[] weights, List<Float> pixels) {
        double[] scores = new double[CLASSES];
        for (int c = 0; c < CLASSES; c++) {
            for (int i = 0; i < PIXELS; i++) {
                scores[c] += weights[c * PIXELS + i] * pixels.get(i);
            }
        }
        return scores;
    }

    private static int best(double[] scores) {
        int best = 0;
        for (int c = 1; c < scores.length; c++) {
            best = scores[c] > scores[best] ? c : best;
        }
        return best;
    }
}
