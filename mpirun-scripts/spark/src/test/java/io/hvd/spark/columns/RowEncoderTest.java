package io.hvd.spark.columns;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.GenericRowWithSchema;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

/** From values as Spark's rows have them to arrays, and what is said of values that cannot become elements. */
class RowEncoderTest {
    private static final int PARTITION = 3;
    private static final StructType IMAGE = new StructType()
            .add("origin", DataTypes.StringType)
            .add("height", DataTypes.IntegerType)
            .add("width", DataTypes.IntegerType)
            .add("nChannels", DataTypes.IntegerType)
            .add("mode", DataTypes.IntegerType)
            .add("data", DataTypes.BinaryType);

    /** A batch of rows with one column x. */
    private static ColumnBatch batch(DataType type, Object... values) {
        StructType schema = new StructType().add("before", DataTypes.StringType).add("x", type);
        RowEncoder encoder = new RowEncoder(ReadColumns.of(schema, List.of("x")), PARTITION);
        List<ByteBuffer> records = new ArrayList<>();
        for (Object value : values) {
            records.add(encoder.encode(new GenericRowWithSchema(new Object[] {"not read", value}, schema)));
        }
        return encoder.layout().orElseThrow().batch(records);
    }

    private static Object list(Object... elements) {
        return CollectionConverters.asScala(Arrays.asList(elements)).toSeq();
    }

    private static Row image(int height, int width, int channels, int mode, int... data) {
        byte[] bytes = new byte[data.length];
        for (int i = 0; i < data.length; i++) {
            bytes[i] = (byte) data[i];
        }
        return new GenericRowWithSchema(new Object[] {"file.png", height, width, channels, mode, bytes}, IMAGE);
    }

    private static void requireColumn(ColumnBatch batch, DType dtype, Shape shape, Object array) {
        Tensor tensor = batch.tensor("x");
        assertThat(tensor.dtype()).isEqualTo(dtype);
        assertThat(tensor.shape()).isEqualTo(shape);
        assertThat(tensor.toArray()).isEqualTo(array);
    }

    @Test
    void numbersKeepTheirTypes() {
        Shape two = Shape.of(2);
        requireColumn(batch(DataTypes.BooleanType, true, false), DType.BOOL, two, new byte[] {1, 0});
        requireColumn(batch(DataTypes.ByteType, (byte) -7, (byte) 9), DType.INT8, two, new byte[] {-7, 9});
        requireColumn(batch(DataTypes.ShortType, (short) -300, (short) 1), DType.INT16, two, new short[] {-300, 1});
        requireColumn(batch(DataTypes.IntegerType, 1 << 20, -1), DType.INT32, two, new int[] {1 << 20, -1});
        requireColumn(batch(DataTypes.LongType, 1L << 40, -1L), DType.INT64, two, new long[] {1L << 40, -1});
        requireColumn(batch(DataTypes.FloatType, 1.5f, -2f), DType.FLOAT32, two, new float[] {1.5f, -2});
        requireColumn(batch(DataTypes.DoubleType, 0.1, -2.0), DType.FLOAT64, two, new double[] {0.1, -2});
    }

    @Test
    void arraysBinariesAndVectorsHaveOneMoreAxis() {
        Shape twoOfThree = Shape.of(2, 3);
        requireColumn(
                batch(DataTypes.createArrayType(DataTypes.FloatType), list(1f, 2f, 3f), list(4f, 5f, 6f)),
                DType.FLOAT32,
                twoOfThree,
                new float[] {1, 2, 3, 4, 5, 6});
        requireColumn(
                batch(DataTypes.createArrayType(DataTypes.BooleanType), list(true, false, true)),
                DType.BOOL,
                Shape.of(1, 3),
                new byte[] {1, 0, 1});
        requireColumn(
                batch(DataTypes.BinaryType, new byte[] {1, 2, -1}, new byte[] {3, 4, 5}),
                DType.UINT8,
                twoOfThree,
                new byte[] {1, 2, -1, 3, 4, 5});
        requireColumn(
                batch(new TestVectorType(), TestVector.dense(1, 2, 3), new TestVector(3, new int[] {2}, new double[] {7
                })),
                DType.FLOAT64,
                twoOfThree,
                new double[] {1, 2, 3, 0, 0, 7});
    }

    @Test
    void imagesHavePlanesOfRedGreenBlueAndAlpha() {
        requireColumn(
                batch(IMAGE, image(1, 2, 3, 16, 30, 20, 10, 31, 21, 11)),
                DType.UINT8,
                Shape.of(1, 3, 1, 2),
                new byte[] {10, 11, 20, 21, 30, 31});
        requireColumn(batch(IMAGE, image(1, 1, 4, 24, 30, 20, 10, 255)), DType.UINT8, Shape.of(1, 4, 1, 1), new byte[] {
            10, 20, 30, -1
        });
        requireColumn(
                batch(IMAGE, image(2, 2, 1, 0, 1, 2, 3, 4)), DType.UINT8, Shape.of(1, 1, 2, 2), new byte[] {1, 2, 3, 4
                });
    }

    @Test
    void aBatchConvertsWhereTheProgramAsksForIt() {
        ColumnBatch bytes = batch(DataTypes.BinaryType, new byte[] {0, 1, -1});
        assertThat(bytes.floats("x")).containsExactly(0, 1, 255);
        assertThat(bytes.longs("x")).containsExactly(0, 1, 255);
        assertThat(bytes.ints("x")).containsExactly(0, 1, 255);
        assertThat(batch(DataTypes.LongType, 5L, -6L).ints("x")).containsExactly(5, -6);
        assertThat(batch(DataTypes.ByteType, (byte) -7).longs("x")).containsExactly(-7);
        assertThat(batch(DataTypes.DoubleType, 0.5).floats("x")).containsExactly(0.5f);
        assertThat(batch(DataTypes.ShortType, (short) -3).floats("x")).containsExactly(-3);
        assertThatThrownBy(() -> batch(DataTypes.DoubleType, 0.5).ints("x"))
                .hasMessageContaining("column \"x\" has elements of float64, expected whole numbers or booleans");
        assertThatThrownBy(() -> batch(DataTypes.LongType, 1L << 40).ints("x")).isInstanceOf(ArithmeticException.class);
        assertThatThrownBy(() -> bytes.floats("y"))
                .hasMessageContaining("no column \"y\" was read, expected one of [x]");
    }

    @Test
    void batchesOfOneRowBecomeABatch() {
        DataType floats = DataTypes.createArrayType(DataTypes.FloatType);
        ColumnBatch all = ColumnBatch.of(List.of(batch(floats, list(1f, 2f)), batch(floats, list(3f, 4f))));

        assertThat(all.rows()).isEqualTo(2);
        requireColumn(all, DType.FLOAT32, Shape.of(2, 2), new float[] {1, 2, 3, 4});
    }

    @Test
    void severalColumnsOfOddLengthsStandSideBySide() {
        StructType schema = new StructType()
                .add("flag", DataTypes.BooleanType)
                .add("weight", DataTypes.DoubleType)
                .add("bytes", DataTypes.BinaryType)
                .add("label", DataTypes.LongType);
        RowEncoder encoder =
                new RowEncoder(ReadColumns.of(schema, List.of("label", "bytes", "flag", "weight")), PARTITION);
        List<ByteBuffer> records = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            records.add(encoder.encode(new GenericRowWithSchema(
                    new Object[] {i == 1, i + 0.25, new byte[] {(byte) i, 1, 2}, i - 7L}, schema)));
        }
        ColumnBatch batch = encoder.layout().orElseThrow().batch(records);

        assertThat(batch.columns()).containsExactly("label", "bytes", "flag", "weight");
        assertThat(batch.ints("flag")).containsExactly(0, 1, 0);
        assertThat(batch.floats("weight")).containsExactly(0.25f, 1.25f, 2.25f);
        assertThat(batch.ints("bytes")).containsExactly(0, 1, 2, 1, 1, 2, 2, 1, 2);
        assertThat(batch.longs("label")).containsExactly(-7, -6, -5);
    }

    @Test
    void aValueThatCannotBeAnElementIsNamedWithItsColumnRowAndPartition() {
        DataType floats = DataTypes.createArrayType(DataTypes.FloatType);
        String who = "column \"x\" of row 1 of partition 3 ";

        assertThatThrownBy(() -> batch(DataTypes.DoubleType, 1.0, null))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_DATA_SET))
                .hasMessageContaining(who + "is null, expected a value in every row");
        assertThatThrownBy(() -> batch(floats, list(1f, 2f), list(3f, null)))
                .hasMessageContaining(who + "has null as element 1 of 2, expected float32");
        assertThatThrownBy(() -> batch(floats, list(1f, 2f), list(3.5f)))
                .hasMessageContaining(who + "has the shape [1], expected [2] as in the partition's first row; it is")
                .hasMessageContaining("3.5");
        assertThatThrownBy(() -> batch(new TestVectorType(), TestVector.dense(1), TestVector.dense(1, 2)))
                .hasMessageContaining(who + "has the shape [2], expected [1]");
        assertThatThrownBy(() -> batch(IMAGE, image(1, 1, 1, 0, 5), image(1, 2, 1, 0, 5, 6)))
                .hasMessageContaining(who + "has the shape [1, 1, 2], expected [1, 1, 1]");
        assertThatThrownBy(() -> batch(IMAGE, image(-1, -1, -1, -1)))
                .hasMessageContaining("column \"x\" of row 0 of partition 3 is an image with height -1, width -1,"
                        + " nChannels -1, mode -1 and 0 bytes of data, expected 1, 3 or 4 channels of bytes");
        assertThatThrownBy(() -> batch(IMAGE, image(1, 1, 3, 16, 1, 2)))
                .hasMessageContaining("nChannels 3, mode 16 and 2 bytes of data");
    }

    @Test
    void columnsThatAreMissingOrOfAnotherTypeAreNamedWithTheirTypes() {
        StructType schema =
                new StructType().add("name", DataTypes.StringType).add("price", DataTypes.createDecimalType(10, 2));

        assertThatThrownBy(() -> ReadColumns.of(schema.add("name", DataTypes.IntegerType), List.of("name")))
                .hasMessageContaining("the DataFrame has several columns \"name\", expected one");
        assertThatThrownBy(() -> ReadColumns.of(schema, List.of("prize")))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_ARGUMENT))
                .hasMessageContaining("the DataFrame has no column \"prize\", expected one of [name, price]");
        assertThatThrownBy(() -> ReadColumns.of(schema, List.of("price")))
                .hasMessageContaining("column \"price\" is of type decimal(10,2), expected numbers, booleans, arrays of"
                        + " numbers, binaries, vectors of Spark ML or images: cast it first");
        assertThatThrownBy(() -> ReadColumns.of(schema, List.of("name")))
                .hasMessageContaining("column \"name\" is of type string");
    }
}
