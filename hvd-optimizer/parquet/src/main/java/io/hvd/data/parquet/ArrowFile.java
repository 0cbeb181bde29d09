package io.hvd.data.parquet;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.flatbuf.BodyCompression;
import org.apache.arrow.flatbuf.RecordBatch;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.compression.CompressionCodec;
import org.apache.arrow.vector.compression.CompressionUtil.CodecType;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.ReadChannel;
import org.apache.arrow.vector.ipc.message.ArrowBlock;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * A file whose footer and the lengths of whose record batches have been read.
 *
 * @param columns the types of those that were asked for, in the file's order
 * @param lengths of the record batches
 */
record ArrowFile(Path path, Map<String, String> columns, List<Integer> lengths) implements RowFile {
    /** @param names of columns; all if there are none */
    static ArrowFile open(Path path, List<String> names) {
        requireOpenBuffers();
        try (BufferAllocator memory = new RootAllocator();
                FileChannel file = FileChannel.open(path);
                ArrowFileReader reader = new ArrowFileReader(file, memory)) {
            Map<String, String> types = new LinkedHashMap<>();
            for (Field field : reader.getVectorSchemaRoot().getSchema().getFields()) {
                types.put(field.getName(), words(field, reader));
            }
            RowFile.requireColumns(path, names, List.copyOf(types.keySet()));
            if (!names.isEmpty()) {
                types.keySet().retainAll(names);
            }
            List<Integer> lengths = new ArrayList<>();
            for (ArrowBlock block : reader.getRecordBlocks()) {
                lengths.add(length(file, block));
            }
            return new ArrowFile(path, types, lengths);
        } catch (IOException | RuntimeException e) {
            throw e instanceof HvdException known
                    ? known
                    : RowFile.bad(path, "cannot be read as an Arrow file: " + e, e);
        }
    }

    /** Arrow reads an address out of direct buffers, and without this says so in the middle of a static initialiser. */
    private static void requireOpenBuffers() {
        if (!ByteBuffer.class.getModule().isOpen("java.nio", ArrowBuf.class.getModule())) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "Arrow files need Java to be started with --add-opens=java.base/java.nio=ALL-UNNAMED, or a jar whose"
                            + " manifest has Add-Opens: java.base/java.nio");
        }
    }

    /** Requires the library that decompresses the batch as well, which says which one it is. */
    private static int length(FileChannel file, ArrowBlock block) throws IOException {
        file.position(block.getOffset());
        RecordBatch batch = (RecordBatch) MessageSerializer.readMessage(new ReadChannel(file))
                .getMessage()
                .header(new RecordBatch());
        BodyCompression compression = batch.compression();
        if (compression != null) {
            CompressionCodec.Factory.INSTANCE.createCodec(CodecType.fromCompressionType(compression.codec()));
        }
        return Math.toIntExact(batch.length());
    }

    /** The type of a column's values, also where a dictionary has them. */
    private static String words(Field field, ArrowFileReader reader) {
        if (field.getDictionary() != null) {
            return words(
                    reader.lookup(field.getDictionary().getId()).getVector().getField(), reader);
        }
        List<String> children =
                field.getChildren().stream().map(child -> words(child, reader)).toList();
        return field.getType() + (children.isEmpty() ? "" : " of " + children);
    }

    /** A record batch stays whole, however many rows it has. */
    @Override
    public List<Part> parts(int mostRows) {
        List<Part> parts = new ArrayList<>();
        long firstOfFile = 0;
        for (int batch = 0; batch < lengths.size(); batch++) {
            if (lengths.get(batch) > 0) {
                parts.add(new Part(batch, 0, lengths.get(batch), firstOfFile));
            }
            firstOfFile += lengths.get(batch);
        }
        return parts;
    }

    @Override
    public RowBlock read(Part part) {
        try (BufferAllocator memory = new RootAllocator();
                FileChannel file = FileChannel.open(path);
                ArrowFileReader reader = new ArrowFileReader(file, memory)) {
            reader.loadRecordBatch(reader.getRecordBlocks().get(part.group()));
            Map<String, ColumnValues> decoded = new LinkedHashMap<>();
            for (FieldVector vector : reader.getVectorSchemaRoot().getFieldVectors()) {
                String type = columns.get(vector.getName());
                if (type != null) {
                    decoded.put(vector.getName(), ArrowColumns.decode(type, vector, reader, part.rows()));
                }
            }
            return new RowBlock(path, part.firstOfFile(), decoded);
        } catch (IOException | RuntimeException e) {
            throw RowFile.bad(
                    path,
                    "cannot be read from row " + part.firstOfFile() + " on (record batch " + part.group() + "): " + e,
                    e);
        }
    }
}
