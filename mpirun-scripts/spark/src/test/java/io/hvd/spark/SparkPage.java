package io.hvd.spark;

import io.hvd.Elastic;
import io.hvd.ElasticState;
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

    private static double train(HvdContext hvd, RowBatches<Row> batches) throws Exception {
        return SparkPrograms.train(hvd, batches, 3);
    }
}
