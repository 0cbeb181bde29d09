package io.hvd.spark;

import io.hvd.data.mapped.MappedDataset;
import io.hvd.spark.columns.ReadColumns;
import io.hvd.spark.columns.RowEncoder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructType;

/**
 * Writes a partition to a file in the executor's local folder before the ranks meet, so that a slow source holds up none of them in a
 * collective. The file has no name any more once it is mapped: its bytes go when nobody refers to them, whatever ends the task or
 * the executor.
 */
final class SpillTask implements FlatMapFunction<Iterator<Row>, Spill> {
    private static final long serialVersionUID = 1L;

    private final StructType schema;
    private final List<String> columns;

    SpillTask(StructType schema, List<String> columns) {
        this.schema = schema;
        this.columns = columns;
    }

    @Override
    public Iterator<Spill> call(Iterator<Row> rows) throws Exception {
        ReadColumns read = ReadColumns.of(schema, columns);
        RowEncoder encoder = new RowEncoder(read, TaskContext.getPartitionId());
        Path file = SparkEnv.get()
                .blockManager()
                .diskBlockManager()
                .createTempLocalBlock()
                ._2()
                .toPath();
        MappedDataset records = MappedDataset.temporary(file, "rows of a partition", into -> {
            while (rows.hasNext()) {
                into.add(encoder.encode(rows.next()));
            }
        });
        Files.delete(file);
        return List.of(new Spill(records, read, encoder.layout())).iterator();
    }
}
