package io.hvd.spark;

import io.hvd.HvdContext;
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

    static List<Double> train(Dataset<Row> images) {
        List<Double> accuracies = HvdSpark.train(
                images, // a Dataset, which Spark deals to the ranks
                SparkOptions.of(4).withBatchRows(25),
                (hvd, batches) -> train(hvd, batches)); // batches is as long on every rank
        return accuracies;
    }

    private static double train(HvdContext hvd) {
        return SparkPrograms.sum(hvd);
    }

    private static double train(HvdContext hvd, RowBatches<Row> batches) throws Exception {
        return SparkPrograms.train(hvd, batches, 3);
    }
}
