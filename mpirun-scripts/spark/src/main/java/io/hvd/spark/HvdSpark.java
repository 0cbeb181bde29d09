package io.hvd.spark;

import io.hvd.error.HvdException;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * Runs a job whose ranks are the tasks of a stage of Spark, with a barrier unless the job is elastic, without ssh, mpirun or a port that anybody has to choose.
 * Ranks of one host share memory, in one executor or in several. A rank has a context of its own, to which its task's thread is
 * bound. What fails is the task: the executors go on.
 *
 * <pre>{@code
 * List<Double> losses = HvdSpark.run(spark, 4, hvd -> train(hvd)); // four ranks, one result each
 * }</pre>
 */
public final class HvdSpark {
    private HvdSpark() {}

    /**
     * Runs the body on so many ranks.
     *
     * @return the results of all ranks, by rank
     * @throws HvdException as {@link #run(SparkSession, SparkOptions, SparkBody)} does
     */
    public static <R> List<R> run(SparkSession spark, int ranks, SparkBody<R> body) {
        return run(spark, SparkOptions.of(ranks), body);
    }

    /**
     * Runs the body on every rank, and waits for all of them. If an executor is lost, the body begins anew on all ranks, as often
     * as the options say. A rank that throws ends the job at once. An interrupt of the calling thread cancels it.
     *
     * @return the results of all ranks, by rank; they have to be {@link java.io.Serializable}
     * @throws HvdException if the application has too few slots or allocates its executors dynamically, or a rank has failed; the
     *     message names the rank
     */
    public static <R> List<R> run(SparkSession spark, SparkOptions options, SparkBody<R> body) {
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        JavaRDD<Integer> nothing = context.parallelize(List.of(), options.ranks());
        return new BarrierJob(context, options, "HvdSpark.run").run(nothing, (hvd, rows) -> body.run(hvd));
    }

    /**
     * Runs the body on every rank with its share of the rows, which Spark distributes evenly. Each rank has its share in memory
     * for as long as the body runs.
     *
     * @return the results of all ranks, by rank; they have to be {@link java.io.Serializable}
     * @throws HvdException as {@link #run(SparkSession, SparkOptions, SparkBody)} does
     */
    public static <T, R> List<R> train(Dataset<T> rows, SparkOptions options, RowsBody<T, R> body) {
        JavaSparkContext context =
                JavaSparkContext.fromSparkContext(rows.sparkSession().sparkContext());
        int batchRows = options.batchRows();
        return new BarrierJob(context, options, "HvdSpark.train")
                .run(
                        rows.repartition(options.ranks()).toJavaRDD(),
                        (hvd, mine) -> body.run(hvd, new RowBatches<>(hvd, mine, batchRows)));
    }

    /**
     * Runs a body that calls {@link io.hvd.Elastic#run(io.hvd.ElasticState, io.hvd.Elastic.Body)} as the tasks of a stage without
     * a barrier, with the job's coordinator in the driver. If an executor is lost, the others go on from the last step, and the
     * tasks that Spark starts anew join them; {@code spark.task.maxFailures} says how often one may be. It begins with as many
     * ranks as the options say, or after their {@code slotLimit} with at least {@code leastRanks}. Dynamic allocation is allowed,
     * speculation is not. An interrupt of the calling thread cancels the job.
     *
     * @return the results of all workers that had a rank at the end, by task; they are {@link java.io.Serializable}
     * @throws HvdException if too few ranks are left, a task has failed too often, or a rank has given no result; the message says why
     */
    public static <R> List<R> runElastic(SparkSession spark, SparkOptions options, ElasticBody<R> body) {
        return new ElasticJob(JavaSparkContext.fromSparkContext(spark.sparkContext()), options).run(body);
    }

    /**
     * Runs the body on every rank with the columns of its share of the rows, as a data set that can be read as often as it takes. The
     * rows are in a file in the executor's local folder (spark.local.dir) for as long as somebody refers to them; the ranks meet when
     * all of them have written theirs.
     *
     * @return the results of all ranks, by rank; they have to be {@link java.io.Serializable}
     * @throws HvdException as {@link #run(SparkSession, SparkOptions, SparkBody)} does; or if a column is missing or of a type that
     *     {@link io.hvd.spark.columns.ColumnBatch} does not list, or a value is null or of another length than the others, with
     *     the names of column, row and partition
     */
    public static <R> List<R> train(Dataset<Row> rows, SparkOptions options, RowColumns columns, ColumnsBody<R> body) {
        return new ColumnsJob(rows, options, columns).run(body);
    }

    /**
     * Adds a column that a model computes from others, batch by batch, when the DataFrame is used. Rows, other columns and the
     * order stay as they are. Nothing waits for another partition, and no slot has to be free at a time.
     *
     * <p>The bytes travel to each executor once, and a model is loaded there once for each task that runs at the same time. Where a
     * batch fails, Spark tries its partition again, as often as spark.task.maxFailures says.
     *
     * @param output the new column, and the columns that the model reads
     * @param model what the loader makes a model of, such as a checkpoint
     * @throws HvdException if the DataFrame lacks an input column, one has a type that {@link io.hvd.spark.columns.ColumnBatch} does
     *     not list, or there is a column of the output's name
     */
    public static <A> Dataset<Row> predict(
            Dataset<Row> rows, OutputColumn<A> output, byte[] model, ModelLoader<A> loader) {
        return Prediction.of(rows, output, model, loader);
    }
}
