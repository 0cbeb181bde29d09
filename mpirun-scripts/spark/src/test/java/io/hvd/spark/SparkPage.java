package io.hvd.spark;

import io.hvd.Elastic;
import io.hvd.ElasticState;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.spark.columns.ColumnBatch;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** The code of docs/how-to/spark.md. */
final class SparkPage {
    private SparkPage() {}

    static List<Double> run(SparkSession spark) {
        List<Double> losses = HvdSpark.run(spark, 4, hvd -> train(hvd)); // four ranks, one result each
        return losses;
    }

    static List<byte[]> train(Dataset<Row> images) {
        List<byte[]> models = HvdSpark.train(
                images, SparkOptions.of(4).withBatchRows(25), RowColumns.of("pixels", "label"), (hvd, rows) -> {
                    try (var loader = rows.loader().build()) {
                        return train(hvd, loader); // an iteration is an epoch
                    }
                });
        return models;
    }

    static Dataset<Row> predict(Dataset<Row> images, byte[] model) {
        Dataset<Row> predicted =
                HvdSpark.predict(images, OutputColumn.ofInt("digit").from("pixels"), model, bytes -> {
                    Mlp mlp = Mlp.load(bytes);
                    return batch -> mlp.classes(batch.floats("pixels"));
                });
        return predicted;
    }

    static List<Double> runElastic(SparkSession spark) {
        List<Double> losses = HvdSpark.runElastic(
                spark,
                SparkOptions.of(4).withLeastRanks(2), // goes on with two
                () -> train()); // calls Elastic.run(state, body), as under horovodrun --min-np 2
        return losses;
    }

    static double train() throws Exception {
        double[] sum = new double[1];
        Elastic.run(new NoState(), elastic -> sum[0] = SparkPrograms.sum(elastic.context()));
        return sum[0];
    }

    /** All ranks have the same from the start. */
    private static final class NoState implements ElasticState {
        @Override
        public void sync(HvdContext hvd, int root) {}

        @Override
        public Runnable backup() {
            return () -> {};
        }
    }

    private static double train(HvdContext hvd) {
        return SparkPrograms.sum(hvd);
    }

    private static byte[] train(HvdContext hvd, DataLoader<?, ColumnBatch> loader) {
        Mlp mlp = new Mlp(SparkPrograms.PIXELS, 1);
        mlp.train(hvd, 5, loader, Mlp.Batch::of);
        return mlp.save();
    }
}
