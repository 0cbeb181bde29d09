package io.hvd.spark.columns;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Shape;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns of a DataFrame that are read, by their kinds. */
public final class ReadColumns {
    private final List<Column> columns;

    private ReadColumns(List<Column> columns) {
        this.columns = columns;
    }

    /**
     * Looks the columns up.
     *
     * @throws HvdException with {@link ErrorId#BAD_ARGUMENT} if one is missing, or of a type that is not read
     */
    public static ReadColumns of(StructType schema, List<String> names) {
        List<Column> found = new ArrayList<>();
        names.forEach(name -> found.add(column(schema, name)));
        return new ReadColumns(found);
    }

    private static Column column(StructType schema, String name) {
        List<String> all = List.of(schema.fieldNames());
        int index = all.indexOf(name);
        if (index < 0) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "the DataFrame has no column \"" + name + "\", expected one of " + all);
        }
        if (index != all.lastIndexOf(name)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "the DataFrame has several columns \"" + name + "\", expected one: rename or drop the others");
        }
        StructField field = schema.apply(index);
        ColumnKind kind = ColumnKind.of(field.dataType())
                .orElseThrow(() -> new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "column \"" + name + "\" is of type "
                                + field.dataType().catalogString() + ", expected " + ColumnKind.KNOWN
                                + ": cast it first, such as by col(\"" + name + "\").cast(\"double\")"));
        return new Column(name, index, kind);
    }

    List<Column> all() {
        return columns;
    }

    /** How records are laid out whose values have these shapes, in the columns' order. */
    public RowLayout layout(List<Shape> shapes) {
        return RowLayout.of(columns, shapes);
    }

    /** The columns' names, in their order. */
    public List<String> names() {
        return columns.stream().map(Column::name).toList();
    }
}
