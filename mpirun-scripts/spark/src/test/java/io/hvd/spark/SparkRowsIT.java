package io.hvd.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.HvdContext;
import io.hvd.error.HvdException;
import io.hvd.spark.columns.ColumnBatch;
import io.hvd.spark.columns.TestVector;
import io.hvd.spark.columns.TestVectorType;
import io.hvd.train.UnevenSteps;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Columns of DataFrames in a session of one process with two slots, whose serializer is not Java's. */
@Timeout(300)
class SparkRowsIT {
    private static final int ROWS = 23;
    private static final StructType IMAGE = new StructType()
            .add("origin", DataTypes.StringType)
            .add("height", DataTypes.IntegerType)
            .add("width", DataTypes.IntegerType)
            .add("nChannels", DataTypes.IntegerType)
            .add("mode", DataTypes.IntegerType)
            .add("data", DataTypes.BinaryType);
    private static final StructType SCHEMA = new StructType()
            .add("id", DataTypes.IntegerType)
            .add("a.name", DataTypes.StringType)
            .add("list", DataTypes.createArrayType(DataTypes.FloatType))
            .add("vector", new TestVectorType())
            .add("image", IMAGE);
    private static final AtomicInteger LOADED = new AtomicInteger();

    @TempDir
    static Path folder;

    private static SparkSession spark;

    @BeforeAll
    static void start() {
        SparkConf conf = new SparkConf()
                .setAppName("hvd")
                .setMaster("local[2]")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.ui.enabled", "false")
                .set("spark.local.dir", folder.toString())
                .set("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
                .set("spark.sql.codegen.wholeStage", "false")
                .set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
                .set("spark.sql.shuffle.partitions", "2")
                .set("spark.sql.warehouse.dir", folder.resolve("warehouse").toString());
        spark = SparkSession.builder().config(conf).getOrCreate();
    }

    @AfterAll
    static void stop() {
        if (spark != null) {
            spark.stop();
        }
    }

    /** Each row's values follow from its id; the names of some rows are null. */
    private static Dataset<Row> rows(int partitions) {
        List<Row> rows = IntStream.range(0, ROWS).mapToObj(SparkRowsIT::row).toList();
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        return spark.createDataFrame(context.parallelize(rows, partitions), SCHEMA);
    }

    private static Row row(int id) {
        TestVector vector = id % 2 == 0 ? TestVector.dense(id, 1) : new TestVector(2, new int[] {0}, new double[] {id});
        Row image = RowFactory.create("file" + id, 1, 1, 3, 16, new byte[] {3, 2, (byte) id});
        return RowFactory.create(id, id % 3 == 0 ? null : "row " + id, new float[] {id + 0.5f, -1}, vector, image);
    }

    /** The ids of the rows that a rank has seen in two epochs; each row's columns have to fit its id. */
    private static List<Integer> seen(HvdContext hvd, SparkRows rows, UnevenSteps uneven) {
        List<Integer> ids = new ArrayList<>();
        try (var loader = rows.loader().evenSteps(uneven.among(hvd)).workers(1).build()) {
            for (int epoch = 0; epoch < 2; epoch++) {
                for (ColumnBatch batch : loader) {
                    for (int i = 0; i < batch.rows(); i++) {
                        ids.add(checkedId(batch, i));
                    }
                }
            }
        }
        return ids;
    }

    private static int checkedId(ColumnBatch batch, int i) {
        int id = batch.ints("id")[i];
        float[] found = {
            batch.floats("list")[2 * i],
            batch.floats("vector")[2 * i],
            batch.floats("vector")[2 * i + 1],
            batch.floats("image")[3 * i],
            batch.floats("image")[3 * i + 2]
        };
        float[] expected = {id + 0.5f, id, 1 - id % 2, id, 3};
        if (!Arrays.equals(found, expected)) {
            throw new IllegalStateException("row " + id + " is " + Arrays.toString(found));
        }
        return id;
    }

    private static final RowColumns COLUMNS = RowColumns.of("id", "list", "vector", "image");

    @Test
    void everyRankReadsItsShareAsOftenAsItLikesAndNoFileStays() throws IOException {
        List<List<Integer>> seen = HvdSpark.train(
                rows(5), SparkOptions.of(2).withBatchRows(3), COLUMNS, (hvd, mine) -> seen(hvd, mine, UnevenSteps.PAD));

        assertThat(seen).allSatisfy(ids -> assertThat(ids).hasSizeBetween(ROWS - 3, ROWS + 5));
        Set<Integer> both = new TreeSet<>(seen.get(0));
        both.addAll(seen.get(1));
        assertThat(both).hasSize(ROWS);
        assertThat(spills()).isEmpty();
    }

    @Test
    void partitionsCanStayAsTheyAreAndTheRanksJoin() {
        List<List<Integer>> seen = HvdSpark.train(
                rows(2).filter("id < 10 or id = 22"),
                SparkOptions.of(2).withBatchRows(3),
                COLUMNS.keepingPartitions(),
                (hvd, mine) -> seen(hvd, mine, UnevenSteps.JOIN));

        assertThat(seen.get(0)).hasSize(20).containsOnly(0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
        assertThat(seen.get(1)).containsExactly(22, 22);
        assertThatThrownBy(() -> HvdSpark.train(
                        rows(3), SparkOptions.of(2), COLUMNS.keepingPartitions(), (hvd, mine) -> mine.size()))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining(
                        "HvdSpark.train keeps the DataFrame's 3 partitions, expected 2, one for each rank");
    }

    @Test
    void aBadRowEndsTheJobWithItsNameAndLeavesNoFile() throws IOException {
        assertThatThrownBy(() -> HvdSpark.train(
                        rows(2), SparkOptions.of(2), RowColumns.of("id", "a.name"), (hvd, mine) -> mine.size()))
                .hasMessageContaining("column \"a.name\" is of type string, expected numbers");
        Dataset<Row> withNull = rows(2).select(functions
                .when(functions.col("id").lt(20), functions.col("id"))
                .as("an.id"));

        assertThatThrownBy(() -> HvdSpark.train(
                        withNull,
                        SparkOptions.of(2),
                        RowColumns.of("an.id").keepingPartitions(),
                        (hvd, mine) -> mine.size()))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("HvdSpark.train of 2 ranks has failed: column \"an.id\" of row ")
                .hasMessageContaining(" of partition 1 is null, expected a value in every row");
        assertThat(spills()).isEmpty();
    }

    private static List<Path> spills() throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.getFileName().toString().startsWith("temp_local"))
                    .toList();
        }
    }

    /** What the tests predict with: a factor, from the bytes of the driver. */
    private record Factor(float by) implements Serializable {
        static Factor load(byte[] bytes) {
            LOADED.incrementAndGet();
            return new Factor(bytes[0]);
        }

        float[][] scores(ColumnBatch batch) {
            float[][] scores = new float[batch.rows()][];
            for (int i = 0; i < scores.length; i++) {
                scores[i] = new float[] {by * checkedId(batch, i), batch.rows()};
            }
            return scores;
        }
    }

    private static final String[] INPUTS = {"id", "list", "vector", "image"};

    @Test
    void aModelAddsAColumnAndLeavesTheRowsAsTheyAre() {
        Dataset<Row> rows = rows(6);
        LOADED.set(0);
        Dataset<Row> predicted = HvdSpark.predict(
                rows,
                OutputColumn.ofFloats("scores").from(INPUTS).withBatchRows(2),
                new byte[] {3},
                bytes -> Factor.load(bytes)::scores);

        assertThat(LOADED).hasValue(0);
        assertThat(predicted.schema())
                .isEqualTo(SCHEMA.add("scores", DataTypes.createArrayType(DataTypes.FloatType, false), false));
        List<Row> found = predicted.collectAsList();
        assertThat(predicted.drop("scores").toJSON().collectAsList())
                .isEqualTo(rows.toJSON().collectAsList());
        assertThat(found).extracting(row -> row.<Integer>getAs("id")).isEqualTo(ids(rows));
        assertThat(found).allSatisfy(row -> assertThat(row.getList(5).get(0)).isEqualTo(3f * row.getInt(0)));
        assertThat(found).extracting(row -> row.getList(5).get(1)).contains(2f, 1f);
        // two tasks at once, in two runs of six partitions
        assertThat(LOADED.get()).isBetween(1, 2);
    }

    @Test
    void aTaskThatComputesManyPartitionsLoadsOneModel() {
        LOADED.set(0);

        List<Row> found = HvdSpark.predict(
                        rows(20),
                        OutputColumn.ofFloats("scores").from(INPUTS),
                        new byte[] {3},
                        bytes -> Factor.load(bytes)::scores)
                .coalesce(1)
                .collectAsList();

        assertThat(found).hasSameSizeAs(ids(rows(20)));
        assertThat(LOADED).hasValue(1);
    }

    @Test
    void columnsKeepTheirMetadata() {
        Metadata names = new MetadataBuilder().putString("of", "shop").build();
        Dataset<Row> rows = rows(2).select(functions.col("id").as("id", names));

        Dataset<Row> predicted =
                HvdSpark.predict(rows, OutputColumn.ofInt("next").from("id"), new byte[0], b -> SparkRowsIT::next);

        assertThat(predicted.schema().apply("id").metadata()).isEqualTo(names);
        assertThat(predicted.collectAsList())
                .allSatisfy(row -> assertThat(row.getInt(1)).isEqualTo(row.getInt(0) + 1));
    }

    private static List<Integer> ids(Dataset<Row> rows) {
        return rows.collectAsList().stream().map(row -> row.getInt(0)).toList();
    }

    @Test
    void numbersOfEveryTypeCanBePredicted() {
        byte[] none = {};
        Dataset<Row> four = rows(2).select("id").filter("id < 4");
        Dataset<Row> all = HvdSpark.predict(four, OutputColumn.ofInt("int").from("id"), none, b -> SparkRowsIT::next);
        all = HvdSpark.predict(all, OutputColumn.ofFloat("float").from("int"), none, b -> batch -> batch.floats("int"));
        all = HvdSpark.predict(
                all,
                OutputColumn.ofDouble("double").from("float"),
                none,
                b -> batch -> IntStream.range(0, batch.rows())
                        .mapToDouble(i -> batch.floats("float")[i] / 4)
                        .toArray());
        all = HvdSpark.predict(
                all, OutputColumn.ofDoubles("doubles").from("double"), none, b -> batch -> new double[batch.rows()][3]);

        assertThat(all.schema().simpleString())
                .isEqualTo("struct<id:int,int:int,float:float,double:double,doubles:array<double>>");
        assertThat(all.collectAsList())
                .extracting(Row::toString)
                .containsExactly(
                        "[0,1,1.0,0.25,ArraySeq(0.0, 0.0, 0.0)]",
                        "[1,2,2.0,0.5,ArraySeq(0.0, 0.0, 0.0)]",
                        "[2,3,3.0,0.75,ArraySeq(0.0, 0.0, 0.0)]",
                        "[3,4,4.0,1.0,ArraySeq(0.0, 0.0, 0.0)]");
    }

    private static int[] next(ColumnBatch batch) {
        return Arrays.stream(batch.ints("id")).map(id -> id + 1).toArray();
    }

    @Test
    void aPredictionThatCannotBeMadeIsNamed() {
        Dataset<Row> rows = rows(2);
        byte[] none = {};
        assertThatThrownBy(() -> HvdSpark.predict(rows, OutputColumn.ofInt("ID").from("id"), none, b -> null))
                .hasMessageContaining("the DataFrame has a column \"id\", expected none of the name of the output"
                        + " column \"ID\"");
        assertThatThrownBy(() -> HvdSpark.predict(rows, OutputColumn.ofInt("next"), none, b -> null))
                .hasMessageContaining("column \"next\" is computed from no column");
        assertThatThrownBy(() -> HvdSpark.predict(
                                rows,
                                OutputColumn.ofInt("next").from("id"),
                                none,
                                b -> batch -> new int[batch.rows() - 1])
                        .collectAsList())
                .hasStackTraceContaining("HvdSpark.predict of column \"next\" has failed in partition ")
                .hasStackTraceContaining("predictions for a batch of ")
                .hasStackTraceContaining("rows, expected one for each");
        assertThatThrownBy(() -> HvdSpark.predict(
                                rows, OutputColumn.ofInt("next").from("id"), none, b -> batch -> {
                                    throw new NoClassDefFoundError("org/x/Net");
                                })
                        .collectAsList())
                .hasStackTraceContaining("java.lang.NoClassDefFoundError: org/x/Net");
    }

    /** A model that fails, and counts how often it has been closed. */
    private record Failing() implements BatchModel<int[]> {
        private static final AtomicInteger CLOSED = new AtomicInteger();

        @Override
        public int[] predict(ColumnBatch batch) {
            throw new IllegalStateException("no weights");
        }

        @Override
        public void close() {
            CLOSED.incrementAndGet();
        }
    }

    @Test
    void aModelThatHasFailedIsClosed() {
        Dataset<Row> predicted = HvdSpark.predict(
                rows(2).coalesce(1), OutputColumn.ofInt("next").from("id"), new byte[0], b -> new Failing());

        assertThatThrownBy(predicted::collectAsList).hasStackTraceContaining("no weights");
        assertThat(Failing.CLOSED).hasValue(1);
    }
}
