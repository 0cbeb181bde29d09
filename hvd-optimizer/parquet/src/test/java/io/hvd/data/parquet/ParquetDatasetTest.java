package io.hvd.data.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.zip.GZIPOutputStream;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.compression.CompressionCodecFactory;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ParquetDatasetTest {
    private static final MessageType ALL = ParquetFiles.schema("required int32 i; required int64 l; required float f;"
            + " required double d; required boolean b; optional binary s (STRING); required fixed_len_byte_array(2) x;"
            + " optional group v (LIST) { repeated group list { optional float element; } }"
            + " repeated float w; required int96 old; required group g { required int32 inner; }");

    @TempDir
    Path folder;

    /** Every third text is null, every fourth vector too, and vectors have 0, 1 or 2 elements. */
    private static Group all(int i) {
        var row = new SimpleGroup(ALL);
        row.append("i", -i)
                .append("l", i * 10_000_000_000L)
                .append("f", i + 0.5f)
                .append("d", i / 3.0);
        row.append("b", i % 2 == 0);
        if (i % 3 > 0) {
            row.append("s", "Zeile ü" + i);
        }
        row.append("x", Binary.fromConstantByteArray(new byte[] {(byte) i, 7}));
        if (i % 4 > 0) {
            Group list = row.addGroup("v");
            for (int e = 0; e < i % 3; e++) {
                list.addGroup("list").append("element", i + e / 4f);
            }
        }
        for (int e = 0; e < i % 5; e++) {
            row.append("w", (float) -e);
        }
        row.append("old", Binary.fromConstantByteArray(new byte[12]));
        row.addGroup("g").append("inner", i);
        return row;
    }

    private static Row requireSame(Row row, int i) {
        assertThat(row.getInt("i")).isEqualTo(-i);
        assertThat(row.getLong("l")).isEqualTo(i * 10_000_000_000L);
        assertThat(row.getFloat("f")).isEqualTo(i + 0.5f);
        assertThat(row.getDouble("d")).isEqualTo(i / 3.0);
        assertThat(row.getBoolean("b")).isEqualTo(i % 2 == 0);
        assertThat(row.isNull("s")).isEqualTo(i % 3 == 0);
        if (i % 3 > 0) {
            assertThat(row.getString("s")).isEqualTo("Zeile ü" + i);
        }
        assertThat(row.getBinary("x")).containsExactly(i, 7);
        assertThat(row.isNull("v")).isEqualTo(i % 4 == 0);
        if (i % 4 > 0) {
            float[] expected = {i, i + 0.25f};
            assertThat(row.floats("v")).isEqualTo(Arrays.copyOf(expected, i % 3));
        }
        assertThat(row.floats("w")).hasSize(i % 5);
        return row;
    }

    /** The pages of a column end at other rows than the blocks, and than the pages of other columns. */
    @Test
    void everyRowIsFoundWithItsValuesInBlocksThatArePartsOfRowGroups() throws Exception {
        Path first = folder.resolve("first.parquet");
        Path second = folder.resolve("second.parquet");
        var writer =
                ParquetFiles.writer(first, ALL).withRowGroupRowCountLimit(50).withPageRowCountLimit(8);
        ParquetFiles.write(writer, first, 90, ParquetDatasetTest::all);
        ParquetFiles.write(ParquetFiles.writer(second, ALL), second, 30, i -> all(90 + i));
        var rows = ParquetDataset.builder(List.of(first, second), row -> row)
                .blockRows(19)
                .build();

        assertThat(rows.size()).isEqualTo(120);
        for (int i : IntStream.range(0, 120).map(i -> i * 7 % 120).toArray()) {
            requireSame(rows.get(i), i);
        }
        assertThatThrownBy(() -> rows.get(120)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void aBlockIsDecodedOnceForAllWorkers() throws Exception {
        var rows = ParquetDataset.builder(ParquetFiles.ids(folder, 100, 300, 100), row -> row.getInt("id"))
                .blockRows(50)
                .build();

        assertThat(IntStream.range(0, 400).parallel().map(i -> getId(rows, i)))
                .containsExactlyElementsOf(IntStream.range(0, 400).boxed().toList());
        assertThat(rows.blocksDecoded()).isEqualTo(8);

        assertThat(rows.cachedBlocks()).isEqualTo(8);
    }

    private static int getId(ParquetDataset<Integer> rows, int index) {
        try {
            return rows.get(index);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aRowGroupWithoutAPageIndexIsOneBlock() throws Exception {
        Path path = ParquetFiles.ids(folder, 25, 60).get(0);
        ParquetFile file = ParquetFile.open(path, List.of());
        assertThat(file.parts(10)).hasSize(3 + 3 + 1);

        file.footer()
                .getBlocks()
                .forEach(group -> group.getColumns().forEach(column -> column.setOffsetIndexReference(null)));
        List<RowFile.Part> parts = file.parts(10);

        assertThat(parts).extracting(RowFile.Part::rows).containsExactly(25, 25, 10);
        Row row = new Row(file.read(parts.get(1)), 4);
        assertThat(row.getInt("id")).isEqualTo(29);
    }

    @Test
    void theBlocksUsedLastAreKept() throws Exception {
        var rows = ParquetDataset.builder(ParquetFiles.ids(folder, 10, 40), row -> row.getInt("id"))
                .cachedBlocks(2)
                .build();

        for (int index : new int[] {0, 10, 1, 20, 2, 11}) {
            assertThat(rows.get(index)).isEqualTo(index);
        }
        assertThat(rows.blocksDecoded()).isEqualTo(4);
    }

    @Test
    void aWrongTypeAndAMissingColumnAreNamedWithWhatWasExpected() throws Exception {
        Path file = folder.resolve("all.parquet");
        ParquetFiles.write(ParquetFiles.writer(file, ALL), file, 2, ParquetDatasetTest::all);
        Row row = ParquetDataset.builder(List.of(file), any -> any).build().get(0);

        refused(() -> row.getFloat("i"), "all.parquet", "\"i\"", "\"required int32 i\"", "expected FLOAT");
        refused(() -> row.floats("f"), "\"f\"", "required float f", "expected a list of FLOAT");
        refused(() -> row.getInt("g"), "\"g\"", "required group g", "expected INT32");
        refused(() -> row.getLong("old"), "\"old\"", "required int96 old", "expected INT64");
        refused(() -> row.getString("s"), "\"s\"", "null in row 0", "expected BINARY");
        refused(() -> row.getInt("none"), "\"none\"", "not there", "[i, l, f, d, b, s, x, v, w, old, g]");
    }

    @Test
    void columnsThatWereNotAskedForAreNotThere() throws Exception {
        Path file = folder.resolve("all.parquet");
        ParquetFiles.write(ParquetFiles.writer(file, ALL), file, 2, ParquetDatasetTest::all);
        Row row = ParquetDataset.builder(List.of(file), any -> any)
                .columns("l", "i")
                .build()
                .get(1);

        assertThat(row.getLong("l")).isEqualTo(10_000_000_000L);
        refused(() -> row.getFloat("f"), "\"f\"", "expected one of [i, l]");
        var unknown = ParquetDataset.builder(List.of(file), any -> any).columns("i", "nope");
        refused(unknown::build, "all.parquet", "\"nope\"", "[i, l, f");
    }

    @Test
    void filesWithOtherColumnsAreRefusedWithBothNames() throws Exception {
        Path ids = ParquetFiles.ids(folder, 10, 20).get(0);
        Path longs = folder.resolve("longs.parquet");
        MessageType other = ParquetFiles.schema("required int64 id;");
        ParquetFiles.write(ParquetFiles.writer(longs, other), longs, 5, i -> new SimpleGroup(other).append("id", 5L));
        Path more = folder.resolve("more.parquet");
        MessageType wider = ParquetFiles.schema("required int32 extra; required int32 id;");
        ParquetFiles.write(
                ParquetFiles.writer(more, wider),
                more,
                5,
                i -> new SimpleGroup(wider).append("extra", 1).append("id", 20 + i));

        var mixed = ParquetDataset.builder(List.of(ids, longs), row -> row);
        refused(mixed::build, "longs.parquet", "ids-0.parquet", "\"required int64 id\"", "\"required int32 id\"");
        var extra = ParquetDataset.builder(List.of(ids, more), row -> row);
        refused(extra::build, "more.parquet", "ids-0.parquet", "\"extra\"", "expected not there");
        var same = ParquetDataset.builder(List.of(ids, more), row -> row.getInt("id"))
                .columns("id")
                .build();
        assertThat(same.get(22)).isEqualTo(22);
    }

    @Test
    void whatIsNoParquetFileIsRefusedWithItsName() throws Exception {
        Path text = Files.writeString(folder.resolve("text.parquet"), "id,label\n1,2\n3,4\n");
        refused(ParquetDataset.builder(List.of(text), row -> row)::build, "text.parquet");
        refused(ParquetDataset.builder(List.of(folder.resolve("none.parquet")), row -> row)::build, "none.parquet");
        assertThatThrownBy(ParquetDataset.builder(List.of(), row -> row)::build)
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("no files");
    }

    @ParameterizedTest
    @EnumSource(names = {"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4_RAW"})
    void compressedFilesAreRead(CompressionCodecName codec) throws Exception {
        Path file = folder.resolve("compressed.parquet");
        var writer = ParquetFiles.writer(file, ALL).withCompressionCodec(codec);
        if (codec == CompressionCodecName.GZIP) {
            writer.withCodecFactory(new GzipWriter());
        }
        ParquetFiles.write(writer, file, 25, ParquetDatasetTest::all);
        var rows =
                ParquetDataset.builder(List.of(file), row -> row).blockRows(10).build();

        for (int i = 0; i < 25; i++) {
            requireSame(rows.get(i), i);
        }
    }

    /** parquet-java writes it with Hadoop's classes alone. */
    private static final class GzipWriter
            implements CompressionCodecFactory, CompressionCodecFactory.BytesInputCompressor {
        @Override
        public CompressionCodecFactory.BytesInputCompressor getCompressor(CompressionCodecName name) {
            return this;
        }

        @Override
        public BytesInputDecompressor getDecompressor(CompressionCodecName name) {
            throw new UnsupportedOperationException();
        }

        @Override
        public BytesInput compress(BytesInput bytes) throws IOException {
            var compressed = new ByteArrayOutputStream();
            try (var stream = new GZIPOutputStream(compressed)) {
                bytes.writeAllTo(stream);
            }
            return BytesInput.from(ByteBuffer.wrap(compressed.toByteArray()));
        }

        @Override
        public CompressionCodecName getCodecName() {
            return CompressionCodecName.GZIP;
        }

        @Override
        public void release() {
            // it holds nothing
        }
    }

    private static void refused(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String... facts) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, error -> assertThat(error.id()).isEqualTo(ErrorId.BAD_DATA_SET))
                .hasMessageContainingAll(facts);
    }
}
