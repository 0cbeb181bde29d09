package io.hvd.data.parquet;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.compression.CommonsCompressionFactory;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.compression.CompressionUtil.CodecType;
import org.apache.arrow.vector.compression.NoCompressionCodec;
import org.apache.arrow.vector.dictionary.DictionaryProvider.MapDictionaryProvider;
import org.apache.arrow.vector.ipc.ArrowFileWriter;
import org.apache.arrow.vector.ipc.message.IpcOption;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;

/** Arrow files for tests, as arrow-java writes them. */
final class ArrowFiles {
    static final List<Field> IDS = List.of(field("id", new ArrowType.Int(32, true)));

    private ArrowFiles() {}

    static Field field(String name, ArrowType type, Field... children) {
        return new Field(name, FieldType.nullable(type), List.of(children));
    }

    /** @param batches the rows of each @param fill sets the values of one row of a batch, by the row's place in the file */
    static Path write(Path file, List<Field> fields, CodecType codec, int[] batches, Filler fill) throws IOException {
        try (BufferAllocator memory = new RootAllocator();
                VectorSchemaRoot root = VectorSchemaRoot.create(new Schema(fields), memory)) {
            return write(file, root, new MapDictionaryProvider(), codec, batches, fill);
        }
    }

    /** Sets the values of a row of a batch. */
    interface Filler {
        void fill(VectorSchemaRoot root, int place, int row);
    }

    static Path write(
            Path file,
            VectorSchemaRoot root,
            MapDictionaryProvider dictionaries,
            CodecType codec,
            int[] batches,
            Filler fill)
            throws IOException {
        try (FileChannel out = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                ArrowFileWriter writer = new ArrowFileWriter(
                        root,
                        dictionaries,
                        out,
                        null,
                        IpcOption.DEFAULT,
                        codec == CodecType.NO_COMPRESSION
                                ? NoCompressionCodec.Factory.INSTANCE
                                : CommonsCompressionFactory.INSTANCE,
                        codec)) {
            writer.start();
            int before = 0;
            for (int rows : batches) {
                root.getFieldVectors().forEach(FieldVector::reset);
                for (int place = 0; place < rows; place++) {
                    fill.fill(root, place, before + place);
                }
                root.setRowCount(rows);
                writer.writeBatch();
                before += rows;
            }
            writer.end();
        }
        return file;
    }

    /** Rows with ascending numbers, over the files, in batches of so many rows. */
    static List<Path> ids(Path folder, int batchRows, int... rowsOfFiles) throws IOException {
        List<Path> files = new ArrayList<>();
        int before = 0;
        for (int rows : rowsOfFiles) {
            int[] batches = new int[(rows + batchRows - 1) / batchRows];
            for (int batch = 0; batch < batches.length; batch++) {
                batches[batch] = Math.min(batchRows, rows - batch * batchRows);
            }
            int first = before;
            Path file = folder.resolve("ids-" + files.size() + ".arrow");
            files.add(write(
                    file,
                    IDS,
                    CodecType.NO_COMPRESSION,
                    batches,
                    (root, place, row) -> ((IntVector) root.getVector("id")).setSafe(place, first + row)));
            before += rows;
        }
        return files;
    }
}
