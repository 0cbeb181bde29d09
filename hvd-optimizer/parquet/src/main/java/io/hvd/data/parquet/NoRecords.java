package io.hvd.data.parquet;

import java.util.List;
import org.apache.parquet.io.api.Converter;
import org.apache.parquet.io.api.GroupConverter;
import org.apache.parquet.io.api.PrimitiveConverter;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.Type;

/** What parquet-java's column readers ask for although their values are taken one by one: a tree that makes no records. */
final class NoRecords extends GroupConverter {
    private final List<Converter> fields;

    NoRecords(GroupType type) {
        fields = type.getFields().stream().map(NoRecords::converter).toList();
    }

    private static Converter converter(Type field) {
        return field.isPrimitive() ? new PrimitiveConverter() {} : new NoRecords(field.asGroupType());
    }

    @Override
    public Converter getConverter(int field) {
        return fields.get(field);
    }

    @Override
    public void start() {
        // no record begins
    }

    @Override
    public void end() {
        // none ends
    }
}
