package io.hvd.spark;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spark.columns.ReadColumns;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A DataFrame with one column more, as the driver describes it. Nothing runs yet. */
final class Prediction {
    private Prediction() {}

    static <A> Dataset<Row> of(Dataset<Row> rows, OutputColumn<A> output, byte[] model, ModelLoader<A> loader) {
        StructType schema = rows.schema();
        ReadColumns.of(schema, requireInputs(output));
        requireNew(schema, output.name());
        JavaSparkContext context =
                JavaSparkContext.fromSparkContext(rows.sparkSession().sparkContext());
        PredictTask<A> task = new PredictTask<>(
                schema, output, loader, context.broadcast(model.clone()), context.broadcast(new ModelPool<A>()));
        boolean mayBeNull = false;
        StructType all = schema.add(output.name(), output.type(), mayBeNull);
        Dataset<Row> predicted = rows.mapPartitions(task, Encoders.row(all));
        return hasMetadata(schema) ? predicted.to(all) : predicted;
    }

    /** Rows that were computed by a function have lost it, such as the names of a vector's elements. */
    private static boolean hasMetadata(StructType schema) {
        return Stream.of(schema.fields()).anyMatch(field -> !field.metadata().equals(Metadata.empty()));
    }

    private static List<String> requireInputs(OutputColumn<?> output) {
        if (output.inputs().isEmpty()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "column \"" + output.name() + "\" is computed from no column, expected at least one: name them by"
                            + " OutputColumn.from");
        }
        return output.inputs();
    }

    /** Spark compares names without regard to case, unless it is told otherwise. */
    private static void requireNew(StructType schema, String name) {
        for (StructField field : schema.fields()) {
            if (field.name().equalsIgnoreCase(name)) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "the DataFrame has a column \"" + field.name() + "\", expected none of the name of the output"
                                + " column \"" + name + "\": drop it first, or choose another name");
            }
        }
    }
}
