package io.hvd.data.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.FixedSizeBinaryVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.LargeVarCharVector;
import org.apache.arrow.vector.TimeStampMicroVector;
import org.apache.arrow.vector.TinyIntVector;
import org.apache.arrow.vector.UInt1Vector;
import org.apache.arrow.vector.UInt4Vector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.complex.LargeListVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.compression.CompressionUtil.CodecType;
import org.apache.arrow.vector.dictionary.Dictionary;
import org.apache.arrow.vector.dictionary.DictionaryProvider.MapDictionaryProvider;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.DictionaryEncoding;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ArrowDatasetTest {
    private static final ArrowType FLOAT = new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE);
    private static final Field ELEMENT = ArrowFiles.field("element", FLOAT);
    private static final List<Field> ALL = List.of(
            ArrowFiles.field("i", new ArrowType.Int(32, true)),
            ArrowFiles.field("small", new ArrowType.Int(8, false)),
            ArrowFiles.field("l", new ArrowType.Int(64, true)),
            ArrowFiles.field("u", new ArrowType.Int(32, false)),
            ArrowFiles.field("f", FLOAT),
            ArrowFiles.field("d", new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE)),
            ArrowFiles.field("b", ArrowType.Bool.INSTANCE),
            ArrowFiles.field("s", ArrowType.Utf8.INSTANCE),
            ArrowFiles.field("large", ArrowType.LargeUtf8.INSTANCE),
            ArrowFiles.field("bytes", ArrowType.Binary.INSTANCE),
            ArrowFiles.field("x", new ArrowType.FixedSizeBinary(2)),
            ArrowFiles.field("day", new ArrowType.Date(DateUnit.DAY)),
            ArrowFiles.field("moment", new ArrowType.Timestamp(TimeUnit.MICROSECOND, null)),
            ArrowFiles.field("v", ArrowType.List.INSTANCE, ELEMENT),
            ArrowFiles.field("w", ArrowType.LargeList.INSTANCE, ELEMENT),
            ArrowFiles.field("fixed", new ArrowType.FixedSizeList(3), ELEMENT),
            ArrowFiles.field("money", new ArrowType.Decimal(9, 2, 128)),
            ArrowFiles.field("g", ArrowType.Struct.INSTANCE, ArrowFiles.field("inner", FLOAT)));

    @TempDir
    Path folder;

    /** Every third text is null, every fourth vector too, and vectors have 0, 1 or 2 elements. */
    private static void fill(VectorSchemaRoot root, int place, int i) {
        ((IntVector) root.getVector("i")).setSafe(place, -i);
        ((UInt1Vector) root.getVector("small")).setSafe(place, 255 - i);
        ((BigIntVector) root.getVector("l")).setSafe(place, i * 10_000_000_000L);
        ((UInt4Vector) root.getVector("u")).setSafe(place, -1 - i);
        ((Float4Vector) root.getVector("f")).setSafe(place, i + 0.5f);
        ((Float8Vector) root.getVector("d")).setSafe(place, i / 3.0);
        ((BitVector) root.getVector("b")).setSafe(place, i % 2 == 0 ? 1 : 0);
        byte[] text = ("Zeile ü" + i).getBytes(StandardCharsets.UTF_8);
        if (i % 3 > 0) {
            ((VarCharVector) root.getVector("s")).setSafe(place, text);
        } else {
            ((VarCharVector) root.getVector("s")).setNull(place);
        }
        ((LargeVarCharVector) root.getVector("large")).setSafe(place, text);
        ((VarBinaryVector) root.getVector("bytes")).setSafe(place, new byte[i % 4]);
        ((FixedSizeBinaryVector) root.getVector("x")).setSafe(place, new byte[] {(byte) i, 7});
        ((DateDayVector) root.getVector("day")).setSafe(place, 20_000 + i);
        ((TimeStampMicroVector) root.getVector("moment")).setSafe(place, 1L << 50 | i);
        ((DecimalVector) root.getVector("money")).setSafe(place, i);
        fillLists(root, place, i);
    }

    private static void fillLists(VectorSchemaRoot root, int place, int i) {
        ListVector list = (ListVector) root.getVector("v");
        if (i % 4 > 0) {
            int first = list.startNewValue(place);
            for (int e = 0; e < i % 3; e++) {
                ((Float4Vector) list.getDataVector()).setSafe(first + e, i + e / 4f);
            }
            list.endValue(place, i % 3);
        } else {
            list.setNull(place);
        }
        LargeListVector large = (LargeListVector) root.getVector("w");
        long start = large.startNewValue(place);
        for (int e = 0; e < i % 5; e++) {
            ((Float4Vector) large.getDataVector()).setSafe((int) start + e, -e);
        }
        large.endValue(place, i % 5);
        FixedSizeListVector fixed = (FixedSizeListVector) root.getVector("fixed");
        int begin = fixed.startNewValue(place);
        for (int e = 0; e < 3; e++) {
            if (i % 7 == 6 && e == 1) {
                ((Float4Vector) fixed.getDataVector()).setNull(begin + e);
            } else {
                ((Float4Vector) fixed.getDataVector()).setSafe(begin + e, 10 * i + e);
            }
        }
    }

    private static void requireSame(Row row, int i) {
        assertThat(row.getInt("i")).isEqualTo(-i);
        assertThat(row.getInt("small")).isEqualTo(255 - i);
        assertThat(row.getLong("l")).isEqualTo(i * 10_000_000_000L);
        assertThat(row.getLong("u")).isEqualTo((1L << 32) - 1 - i);
        assertThat(row.getFloat("f")).isEqualTo(i + 0.5f);
        assertThat(row.getDouble("d")).isEqualTo(i / 3.0);
        assertThat(row.getBoolean("b")).isEqualTo(i % 2 == 0);
        assertThat(row.isNull("s")).isEqualTo(i % 3 == 0);
        if (i % 3 > 0) {
            assertThat(row.getString("s")).isEqualTo("Zeile ü" + i);
        }
        assertThat(row.getString("large")).isEqualTo("Zeile ü" + i);
        assertThat(row.getBinary("bytes")).isEqualTo(new byte[i % 4]);
        assertThat(row.getBinary("x")).containsExactly(i, 7);
        assertThat(row.getInt("day")).isEqualTo(20_000 + i);
        assertThat(row.getLong("moment")).isEqualTo(1L << 50 | i);
        assertThat(row.isNull("v")).isEqualTo(i % 4 == 0);
        if (i % 4 > 0) {
            float[] expected = {i, i + 0.25f};
            assertThat(row.floats("v")).isEqualTo(Arrays.copyOf(expected, i % 3));
        }
        float[] descending = {0, -1, -2, -3};
        assertThat(row.floats("w")).isEqualTo(Arrays.copyOf(descending, i % 5));
        assertThat(row.isNull("fixed")).isEqualTo(i % 7 == 6);
        if (i % 7 < 6) {
            assertThat(row.floats("fixed")).containsExactly(10 * i, 10 * i + 1, 10 * i + 2);
        }
    }

    private ArrowDataset.Builder<Row, ArrowDataset<Row>> rows(Path... files) {
        return ArrowDataset.builder(List.of(files), row -> row);
    }

    @ParameterizedTest
    @EnumSource
    void everyRowIsFoundWithItsValuesAlsoInCompressedFiles(CodecType codec) throws Exception {
        Path first = ArrowFiles.write(
                folder.resolve("first.arrow"), ALL, codec, new int[] {20, 0, 1, 40}, ArrowDatasetTest::fill);
        Path second = ArrowFiles.write(
                folder.resolve("second.feather"),
                ALL,
                codec,
                new int[] {30},
                (root, place, row) -> fill(root, place, 61 + row));
        ArrowDataset<Row> rows = rows(first, second).build();

        assertThat(rows.size()).isEqualTo(91);
        assertThat(rows.blocks().count()).as("batches with rows").isEqualTo(4);
        for (int i : IntStream.range(0, 91).map(i -> i * 8 % 91).toArray()) {
            requireSame(rows.get(i), i);
        }
        assertThat(rows.blocksDecoded()).isEqualTo(4);
    }

    /** The dictionary's own order is another one than that of the rows. */
    @ParameterizedTest
    @EnumSource
    void columnsEncodedByADictionaryHaveItsValues(CodecType codec) throws Exception {
        var encoding = new DictionaryEncoding(5, false, new ArrowType.Int(8, true));
        var type = new FieldType(true, encoding.getIndexType(), encoding);
        Path file = folder.resolve("words.arrow");
        try (BufferAllocator memory = new RootAllocator();
                VarCharVector words = new VarCharVector("words", memory);
                VectorSchemaRoot root =
                        VectorSchemaRoot.create(new Schema(List.of(new Field("word", type, null))), memory)) {
            for (int word = 0; word < 3; word++) {
                words.setSafe(word, ("word " + (2 - word)).getBytes(StandardCharsets.UTF_8));
            }
            words.setValueCount(3);
            var dictionaries = new MapDictionaryProvider(new Dictionary(words, encoding));
            ArrowFiles.write(file, root, dictionaries, codec, new int[] {10, 7}, (batch, place, row) -> {
                var indices = (TinyIntVector) batch.getVector("word");
                if (row % 4 == 3) {
                    indices.setNull(place);
                } else {
                    indices.setSafe(place, 2 - row % 4);
                }
            });
        }
        ArrowDataset<Row> rows = rows(file).build();

        for (int row = 0; row < 17; row++) {
            assertThat(rows.get(row).isNull("word")).isEqualTo(row % 4 == 3);
            if (row % 4 < 3) {
                assertThat(rows.get(row).getString("word")).isEqualTo("word " + row % 4);
            }
        }
        refused(() -> rows.get(0).getInt("word"), "\"word\" is \"Utf8\", expected INT32");
    }

    private static RowGroupSampler.Builder sampler(RowDataset<?> rows, int ranks, int rank) {
        return RowGroupSampler.builder(rows, ranks, rank).seed(5).padded(false);
    }

    @Test
    void recordBatchesAreDealtAsRowGroupsOfParquetAre() throws Exception {
        var arrow = rowsOfIds();
        var parquet = ParquetDataset.builder(ParquetFiles.ids(folder, 20, 137, 81, 99), row -> row.getInt("id"))
                .build();
        for (int rank = 0; rank < 3; rank++) {
            RowGroupSampler mine = sampler(arrow, 3, rank).build();
            assertThat(mine.beginEpoch())
                    .isEqualTo(sampler(parquet, 3, rank).build().beginEpoch());
            assertThat(mine.saveState())
                    .isEqualTo(sampler(parquet, 3, rank).build().saveState());
        }
    }

    private ArrowDataset<Integer> rowsOfIds() throws IOException {
        Path files = Files.createDirectories(folder.resolve("ids"));
        return ArrowDataset.builder(ArrowFiles.ids(files, 20, 137, 81, 99), row -> row.getInt("id"))
                .build();
    }

    @Test
    void fourRanksThatStopInAnEpochAndThreeThatGoOnSeeEachRowOnce() throws Exception {
        ArrowDataset<Integer> rows = rowsOfIds();
        int[] times = new int[rows.size()];
        Map<String, String> state = Map.of();
        for (int rank = 0; rank < 4; rank++) {
            RowGroupSampler sampler = sampler(rows, 4, rank).build();
            count(rows, Arrays.copyOf(sampler.beginEpoch(), 35), times);
            IntStream.range(0, 7).forEach(batch -> sampler.recordBatch(5));
            state = sampler.saveState();
        }
        for (int rank = 0; rank < 3; rank++) {
            RowGroupSampler sampler = sampler(rows, 3, rank).build();
            sampler.loadState(state);
            count(rows, sampler.beginEpoch(), times);
        }
        assertThat(times).containsOnly(1);
    }

    private static void count(ArrowDataset<Integer> rows, int[] indices, int[] times) throws InterruptedException {
        for (int index : indices) {
            times[rows.get(index)]++;
        }
    }

    @Test
    void wrongTypesAndColumnsAreNamedWithWhatWasExpected() throws Exception {
        Path file = ArrowFiles.write(
                folder.resolve("all.arrow"), ALL, CodecType.NO_COMPRESSION, new int[] {2}, ArrowDatasetTest::fill);
        Row row = rows(file).build().get(0);

        refused(() -> row.getFloat("i"), "all.arrow", "\"i\"", "\"Int(32, true)\"", "expected FLOAT");
        refused(() -> row.floats("f"), "\"f\"", "FloatingPoint(SINGLE)", "expected a list of FLOAT");
        refused(() -> row.getInt("g"), "\"g\"", "Struct of [FloatingPoint(SINGLE)]", "expected INT32");
        refused(() -> row.getLong("money"), "\"money\"", "Decimal(9, 2, 128)", "expected INT64");
        refused(() -> row.getString("s"), "\"s\"", "null in row 0", "expected BINARY");
        refused(rows(file).columns("i", "nope")::build, "all.arrow", "\"nope\"", "[i, small, l");
        Row few = rows(file).columns("l", "i").build().get(1);
        assertThat(few.getInt("i")).isEqualTo(-1);
        refused(() -> few.getFloat("f"), "\"f\"", "expected one of [i, l]");
        Path ids = ArrowFiles.ids(folder, 10, 20).get(0);
        refused(rows(file, ids)::build, "ids-0.arrow", "all.arrow", "not there");
    }

    @Test
    void whatIsNoArrowFileAndWhatIsCutOffIsRefusedWithItsName() throws Exception {
        Path file = ArrowFiles.ids(folder, 1000, 3000).get(0);
        byte[] bytes = Files.readAllBytes(file);
        Path cut = Files.write(folder.resolve("cut.arrow"), Arrays.copyOf(bytes, bytes.length / 2));
        Path text = Files.writeString(folder.resolve("text.arrow"), "id,label\n1,2\n3,4\n");
        Path parquet = ParquetFiles.ids(folder, 10, 20).get(0);

        refused(rows(cut)::build, "cut.arrow cannot be read as an Arrow file");
        refused(rows(text)::build, "text.arrow cannot be read as an Arrow file");
        refused(rows(parquet)::build, "ids-0.parquet cannot be read as an Arrow file");
        refused(rows(folder.resolve("none.arrow"))::build, "none.arrow", "NoSuchFile");
        ArrowDataset<Row> rows = rows(file).build();
        Files.write(file, Arrays.copyOf(bytes, 3000));
        refused(() -> rows.get(2500), "ids-0.arrow cannot be read from row 2000 on (record batch 2)");
    }

    private static void refused(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String... facts) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, error -> assertThat(error.id()).isEqualTo(ErrorId.BAD_DATA_SET))
                .hasMessageContainingAll(facts);
    }
}
