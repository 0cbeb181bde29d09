package io.hvd.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spark.MnistProgram.Sample;
import io.hvd.spark.MnistProgram.Told;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Images as a DataFrame on a standalone cluster of two executors with two tasks each: trained on by all ranks, then predicted. {@code
 * -Dhvd.test.mnist=FOLDER} takes the test images of MNIST there instead of drawn ones.
 */
@Tag("long")
@Timeout(600)
class MnistIT {
    private static final int RANKS = 4;

    @Test
    void whatTheRanksHaveTrainedPredictsAsItDoesOnTheDriver(@TempDir Path folder) throws Exception {
        Optional<Path> mnist =
                Optional.ofNullable(System.getProperty("hvd.test.mnist")).map(Path::of);
        List<Sample> samples = mnist.isPresent() ? MnistProgram.samples(mnist.get()) : MnistProgram.drawn();
        Map<String, String> asUsual = Map.of("spark.executor.extraJavaOptions", "-XX:+UseSerialGC");
        try (StandaloneCluster cluster = new StandaloneCluster(folder, 2, 2, List.of());
                SparkSession spark = SparkIT.session(cluster, asUsual)) {
            Dataset<Row> images =
                    MnistProgram.images(spark, samples).repartition(RANKS).cache();
            assertThat(images.count()).isEqualTo(MnistProgram.IMAGES);
            long begun = System.nanoTime();
            List<Told> told = HvdSpark.train(
                    images.filter("place < " + MnistProgram.TRAIN),
                    SparkOptions.of(RANKS).withBatchRows(MnistProgram.BATCH),
                    RowColumns.of("pixels", "label"),
                    MnistProgram::train);
            told.forEach(one -> System.out.println(one.words()));
            System.out.println("trained after " + MnistProgram.since(begun) + " s");
            requireRanks(told);
            requirePredictions(images, samples, told.get(0).model());
        }
    }

    private static void requireRanks(List<Told> told) {
        assertThat(told).extracting(Told::rank).containsExactly(0, 1, 2, 3);
        assertThat(told).extracting(Told::model).containsOnly(told.get(0).model());
        assertThat(told.stream().mapToInt(Told::rows).sum()).isEqualTo(MnistProgram.TRAIN);
        assertThat(told.stream().collect(Collectors.groupingBy(Told::pid, Collectors.counting())))
                .hasSize(2)
                .allSatisfy((pid, ranks) -> assertThat(ranks).isEqualTo(2));
    }

    private static void requirePredictions(Dataset<Row> images, List<Sample> samples, byte[] model) {
        List<Sample> held = samples.subList(MnistProgram.TRAIN, MnistProgram.IMAGES);
        double onDriver = Mlp.load(model).accuracy(MnistProgram.batch(held));
        Dataset<Row> predicted = SparkPage.predict(images.filter("place >= " + MnistProgram.TRAIN), model);
        double onSpark = predicted.filter("digit = label").count() / (double) held.size();
        System.out.println("accuracy " + onSpark);

        assertThat(onSpark).isEqualTo(onDriver).isGreaterThan(0.9);
    }
}
