package io.hvd.data.parquet;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

/** Parquet files for tests, as parquet-java writes them. */
final class ParquetFiles {
    static final MessageType IDS = schema("required int32 id;");

    private ParquetFiles() {}

    static MessageType schema(String columns) {
        return MessageTypeParser.parseMessageType("message rows { " + columns + " }");
    }

    static ExampleParquetWriter.Builder writer(Path file, MessageType schema) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return ExampleParquetWriter.builder(new LocalOutputFile(file))
                .withConf(new PlainParquetConfiguration())
                .withType(schema);
    }

    static Path write(ExampleParquetWriter.Builder writer, Path file, int rows, IntFunction<Group> row)
            throws IOException {
        try (var open = writer.build()) {
            for (int i = 0; i < rows; i++) {
                open.write(row.apply(i));
            }
        }
        return file;
    }

    /** Rows with ascending numbers, over the files, in row groups of so many rows and pages of 10. */
    static List<Path> ids(Path folder, int groupRows, int... rowsOfFiles) throws IOException {
        List<Path> files = new ArrayList<>();
        int before = 0;
        for (int rows : rowsOfFiles) {
            int first = before;
            Path file = folder.resolve("ids-" + files.size() + ".parquet");
            var writer = writer(file, IDS).withRowGroupRowCountLimit(groupRows).withPageRowCountLimit(10);
            files.add(write(writer, file, rows, i -> new SimpleGroup(IDS).append("id", first + i)));
            before += rows;
        }
        return files;
    }
}
