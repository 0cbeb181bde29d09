package io.hvd.data.parquet;

import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.filter2.columnindex.RowRanges;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.io.LocalInputFile;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;

/**
 * A file whose footer has been read.
 *
 * @param types of the columns that were asked for, in the file's order
 */
record ParquetFile(Path path, ParquetMetadata footer, List<Type> types) implements RowFile {
    /** @param names of columns; all if there are none */
    static ParquetFile open(Path path, List<String> names) {
        try (ParquetFileReader reader = ParquetFileReader.open(new LocalInputFile(path), options())) {
            ParquetMetadata footer = reader.getFooter();
            MessageType schema = footer.getFileMetaData().getSchema();
            RowFile.requireColumns(
                    path, names, schema.getFields().stream().map(Type::getName).toList());
            List<Type> types = schema.getFields().stream()
                    .filter(column -> names.isEmpty() || names.contains(column.getName()))
                    .toList();
            return new ParquetFile(path, footer, types);
        } catch (IOException | RuntimeException e) {
            throw e instanceof HvdException known
                    ? known
                    : RowFile.bad(path, "cannot be read as a Parquet file: " + e, e);
        }
    }

    private static ParquetReadOptions options() {
        return ParquetReadOptions.builder(new PlainParquetConfiguration())
                .withCodecFactory(new Codecs())
                .build();
    }

    @Override
    public Map<String, Type> columns() {
        Map<String, Type> names = new LinkedHashMap<>();
        types.forEach(column -> names.put(column.getName(), column));
        return names;
    }

    /** Row groups without an offset index stay whole. */
    @Override
    public List<Part> parts(int mostRows) {
        List<Part> parts = new ArrayList<>();
        long firstOfFile = 0;
        for (int group = 0; group < footer.getBlocks().size(); group++) {
            BlockMetaData block = footer.getBlocks().get(group);
            long rows = block.getRowCount();
            long most = isIndexed(block) ? mostRows : rows;
            for (long first = 0; first < rows; first += most) {
                int length = Math.toIntExact(Math.min(most, rows - first));
                parts.add(new Part(group, first, length, firstOfFile + first));
            }
            firstOfFile += rows;
        }
        return parts;
    }

    private static boolean isIndexed(BlockMetaData block) {
        return block.getColumns().stream().allMatch(column -> column.getOffsetIndexReference() != null);
    }

    @Override
    public RowBlock read(Part part) {
        LocalInputFile input = new LocalInputFile(path);
        ColumnDecoder decoder = new ColumnDecoder(footer.getFileMetaData(), types);
        try (ParquetFileReader reader = ParquetFileReader.open(input, footer, options(), input.newStream())) {
            reader.setRequestedSchema(decoder.requested());
            try (PageReadStore pages = pages(reader, part)) {
                return new RowBlock(path, part.firstOfFile(), decoder.decode(pages, part.rows()));
            }
        } catch (IOException | RuntimeException e) {
            throw e instanceof HvdException known ? known : unreadable(part, e);
        }
    }

    private HvdException unreadable(Part part, Exception e) {
        return RowFile.bad(
                path,
                "cannot be read from row " + part.firstOfFile() + " on (row group " + part.group() + "): " + e,
                e);
    }

    private PageReadStore pages(ParquetFileReader reader, Part part) throws IOException {
        if (part.rows() == footer.getBlocks().get(part.group()).getRowCount()) {
            return reader.readRowGroup(part.group());
        }
        RowRanges rows = RowRanges.builder()
                .addSelectedRange(part.first(), part.first() + part.rows() - 1)
                .build();
        return reader.readFilteredRowGroup(part.group(), rows);
    }
}
