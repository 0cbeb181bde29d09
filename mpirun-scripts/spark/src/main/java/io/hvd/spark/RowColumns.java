package io.hvd.spark;

import java.io.Serializable;
import java.util.List;
import java.util.Set;

/**
 * What {@link HvdSpark#train(org.apache.spark.sql.Dataset, SparkOptions, RowColumns, ColumnsBody)} reads of a DataFrame.
 *
 * @param names of the columns; others do not travel
 * @param partitionsKept whether each partition stays where it is and as long as it is
 */
public record RowColumns(List<String> names, boolean partitionsKept) implements Serializable {
    /** @throws IllegalArgumentException if there is no name, or one twice */
    public RowColumns {
        names = List.copyOf(names);
        if (names.isEmpty() || Set.copyOf(names).size() < names.size()) {
            throw new IllegalArgumentException("columns are " + names + ", expected one or more, each once");
        }
    }

    /** These columns, of rows that Spark distributes anew, so that the ranks have nearly as many. */
    public static RowColumns of(String... names) {
        return new RowColumns(List.of(names), false);
    }

    /**
     * These columns, of the partitions that there are, one for each rank: no row travels, and the ranks may have very different
     * numbers of rows. {@code UnevenSteps.JOIN} suits these.
     */
    public RowColumns keepingPartitions() {
        return new RowColumns(names, true);
    }
}
