package io.hvd.spark.columns;

import io.hvd.tensor.DType;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;

/** How the values of a column become elements of a tensor. */
interface ColumnKind {
    /** The columns that can be read, for messages. */
    String KNOWN = "numbers, booleans, arrays of numbers, binaries, vectors of Spark ML or images";

    /** The type of the elements. */
    DType dtype();

    /** @param value not null, as a row of Spark's has it */
    Elements decode(Object value) throws BadValueException;

    /** The kind of a column; empty for a type that is not read. */
    static Optional<ColumnKind> of(DataType type) {
        DType number = Numbers.TYPES.get(type);
        if (number != null) {
            return Optional.of(new Numbers(number));
        }
        if (type instanceof ArrayType list) {
            return Optional.ofNullable(Numbers.TYPES.get(list.elementType())).map(Lists::new);
        }
        if (type.equals(DataTypes.BinaryType)) {
            return Optional.of(new Binaries());
        }
        if (type instanceof UserDefinedType<?> defined && Vectors.FIELDS.isIn(defined.sqlType())) {
            return Optional.of(new Vectors(defined));
        }
        return type instanceof StructType && Images.FIELDS.isIn(type) ? Optional.of(new Images()) : Optional.empty();
    }

    /** The fields by which a struct is recognised, whatever others it has. */
    record Fields(Map<String, DataType> types) {
        boolean isIn(DataType type) {
            return type instanceof StructType struct
                    && types.entrySet().stream().allMatch(field -> has(struct, field.getKey(), field.getValue()));
        }

        private static boolean has(StructType struct, String name, DataType type) {
            int index = java.util.List.of(struct.fieldNames()).indexOf(name);
            return index >= 0 && struct.apply(index).dataType().sameType(type);
        }
    }
}
