package io.hvd.spark;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spark.columns.ReadColumns;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** A training on columns of a DataFrame, as the driver sees it. */
record ColumnsJob(Dataset<Row> rows, SparkOptions options, RowColumns columns) {
    private static final String CALL = "HvdSpark.train";

    <R> List<R> run(ColumnsBody<R> body) {
        ReadColumns.of(rows.schema(), columns.names());
        JavaSparkContext context =
                JavaSparkContext.fromSparkContext(rows.sparkSession().sparkContext());
        int batchRows = options.batchRows();
        return new BarrierJob(context, options, CALL)
                .run(spills(), (hvd, own) -> body.run(hvd, new SparkRows(hvd, own.get(0), batchRows)));
    }

    private JavaRDD<Spill> spills() {
        Dataset<Row> read =
                rows.select(columns.names().stream().map(this::column).toArray(Column[]::new));
        Dataset<Row> dealt = columns.partitionsKept() ? read : read.repartition(options.ranks());
        JavaRDD<Row> partitions = dealt.toJavaRDD();
        if (partitions.getNumPartitions() != options.ranks()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    CALL + " keeps the DataFrame's " + partitions.getNumPartitions() + " partitions, expected "
                            + options.ranks() + ", one for each rank: use repartition(" + options.ranks()
                            + ") or coalesce, or leave out keepingPartitions()");
        }
        return partitions.mapPartitions(new SpillTask(dealt.schema(), columns.names()));
    }

    /** Dots in a name mean nothing in backquotes. */
    private Column column(String name) {
        return rows.col("`" + name.replace("`", "``") + "`");
    }
}
