package io.hvd.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.cuda.HostGpu.Launch;
import io.hvd.cuda.HostGpu.Outcome;
import io.hvd.kernel.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.LongSupplier;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The kernels' source against {@link Converter}, bit by bit, on the CPU: see {@link HostGpu} for what that proves. */
class SegmentsOnHostTest {
    private static final double[] SCALES = {1.0, 0.25, 1.0 / 3, -2.0, 1e30, 1e-30, 0.0, Double.POSITIVE_INFINITY};
    private static final byte UNTOUCHED = 0x5a;
    private static final long SEED = 20_261_121;
    /** Around vectors, threads' shares and tiles. */
    private static final int[] SIZES = {
        0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 64, 255, 256, 1023, 1024, 1025, 2047, 2049, 4095, 4096, 4097, 8192, 8193,
        20_011
    };

    @TempDir
    static Path folder;

    private static HostGpu gpu;

    @BeforeAll
    static void compile() {
        gpu = HostGpu.compiledInto(folder);
    }

    static Stream<Conversion> everyPairOfTypes() {
        return Arrays.stream(DType.values())
                .flatMap(from -> Arrays.stream(DType.values()).map(to -> new Conversion(from, to, 1.0)))
                .filter(conversion -> conversion.refused().isEmpty());
    }

    static Stream<Conversion> everyFloatingPair() {
        return everyPairOfTypes().filter(conversion -> conversion.from().isFloating());
    }

    private static Stream<Conversion> scaled(Conversion pair) {
        return Arrays.stream(SCALES)
                .mapToObj(scale -> new Conversion(pair.from(), pair.to(), scale))
                .filter(conversion -> conversion.refused().isEmpty());
    }

    @ParameterizedTest
    @MethodSource("everyPairOfTypes")
    void manySegmentsOfRandomBitsComeOutAsTheConverterMakesThem(Conversion pair) throws Exception {
        Layout layout = Layout.mixed();
        byte[] source = filled(pair.from(), layout.sourceElements(), new Random(SEED)::nextLong);
        assertEqual(scaled(pair), layout, source);
    }

    @ParameterizedTest
    @MethodSource("everyPairOfTypes")
    void telltalePatternsComeOutAsTheConverterMakesThem(Conversion pair) throws Exception {
        long[] patterns = telltale(pair.from());
        byte[] source =
                filled(pair.from(), patterns.length, LongStream.of(patterns).iterator()::nextLong);
        assertEqual(scaled(pair), Layout.single(patterns.length), source);
    }

    @ParameterizedTest
    @MethodSource("everyPairOfTypes")
    void aPairOfTypesGoesThroughVectorsAndThroughSingleElementsAlike(Conversion pair) throws Exception {
        int count = 4500;
        byte[] source = filled(pair.from(), 32 * (count + 16), new Random(SEED)::nextLong);
        List<Run> runs = new ArrayList<>();
        for (int lead = 0; lead < 16; lead++) {
            for (int shift = 0; shift < 2; shift++) {
                int at = runs.size() * (count + 16) / 16 * 16;
                runs.add(new Run(at + (lead + shift) % 16, at + lead, count));
            }
        }
        double scale = pair.from() == DType.BOOL ? 1 : 0.75;
        Layout layout = new Layout(runs, 32 * (count + 16), 32 * (count + 16));
        assertEqual(Stream.of(new Conversion(pair.from(), pair.to(), scale)), layout, source);
    }

    @Test
    void asManySegmentsAsALargeModelHasAreFoundByTheirTiles() throws Exception {
        Random random = new Random(SEED);
        List<Run> runs = new ArrayList<>();
        int at = 0;
        for (int i = 0; i < 3000; i++) {
            int count = random.nextInt(40) == 0 ? 5000 : random.nextInt(70);
            runs.add(new Run(at, at, count));
            at += count + random.nextInt(3);
        }
        byte[] source = filled(DType.FLOAT32, at, random::nextLong);
        assertEqual(Stream.of(new Conversion(DType.FLOAT32, DType.BFLOAT16, 0.5)), new Layout(runs, at, at), source);
    }

    @Test
    void elementsAreScaledInPlace() throws Exception {
        for (DType type : List.of(DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16, DType.INT16)) {
            Conversion conversion = new Conversion(type, type, 0.75);
            byte[] bytes = filled(type, 10_000, new Random(SEED)::nextLong);
            Layout layout = new Layout(List.of(new Run(3, 3, 9990)), 10_000, 10_000);
            List<DeviceSegment> segments = layout.segments(type.bytes(), type.bytes());
            Outcome outcome = gpu.run(List.of(
                            new Launch(conversion.kernel(false), conversion.scale(), segments, new byte[0], bytes)))
                    .get(0);
            byte[] expected = converted(conversion, layout, bytes, bytes);
            assertThat(Arrays.mismatch(outcome.target(), expected))
                    .as("%s, first byte that differs", type)
                    .isEqualTo(-1);
        }
    }

    @ParameterizedTest
    @MethodSource("everyPairOfTypes")
    void theFlagStaysDownWhileAllIsFinite(Conversion pair) throws Exception {
        Layout layout = Layout.mixed();
        byte[] source = filled(pair.from(), layout.sourceElements(), new Random(SEED)::nextLong);
        keepFinite(pair.from(), source);
        double scale = pair.from() == DType.BOOL ? 1 : 1e-3;
        List<Outcome> outcomes = checked(new Conversion(pair.from(), pair.to(), scale), layout, List.of(source));
        assertThat(outcomes.get(0).nonFinite()).isFalse();
    }

    @ParameterizedTest
    @MethodSource("everyFloatingPair")
    void oneElementThatIsNotFiniteRaisesTheFlagWhereverItIs(Conversion pair) throws Exception {
        int count = 9001;
        Layout layout = new Layout(List.of(new Run(1, 1, count)), count + 2, count + 2);
        double[] bad = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY};
        int[] places = {1, 2, 16, 17, 4097, 8193, 9000, 9001, 0, count + 1};
        List<byte[]> sources = new ArrayList<>();
        for (int i = 0; i < bad.length * places.length; i++) {
            byte[] source = new byte[(count + 2) * pair.from().bytes()];
            put(pair.from(), source, places[i / bad.length], bad[i % bad.length]);
            sources.add(source);
        }
        List<Outcome> outcomes = checked(pair, layout, sources);
        for (int i = 0; i < sources.size(); i++) {
            int place = places[i / bad.length];
            boolean inside = place >= 1 && place <= count;
            assertThat(outcomes.get(i).nonFinite())
                    .as("%s at %d", bad[i % bad.length], place)
                    .isEqualTo(inside);
        }
    }

    @Test
    void whatOverflowsByTheFactorOrByTheNarrowerTypeRaisesTheFlag() throws Exception {
        assertThat(flagOf(DType.FLOAT32, DType.FLOAT16, 65_519.9f, 1)).isFalse();
        assertThat(flagOf(DType.FLOAT32, DType.FLOAT16, 65_520, 1)).isTrue();
        assertThat(flagOf(DType.FLOAT32, DType.FLOAT16, 65_520, 0.5)).isFalse();
        assertThat(flagOf(DType.FLOAT64, DType.FLOAT16, 65_519.999_999, 1)).isFalse();
        assertThat(flagOf(DType.FLOAT64, DType.FLOAT16, -65_520, 1)).isTrue();
        // 0x7f7f8000 lies in the middle between the largest bfloat16 and 2^128.
        assertThat(flagOf(DType.FLOAT32, DType.BFLOAT16, Float.intBitsToFloat(0x7f7f7fff), 1))
                .isFalse();
        assertThat(flagOf(DType.FLOAT32, DType.BFLOAT16, Float.intBitsToFloat(0x7f7f8000), 1))
                .isTrue();
        assertThat(flagOf(DType.FLOAT64, DType.BFLOAT16, 3e38, 1)).isFalse();
        assertThat(flagOf(DType.FLOAT64, DType.BFLOAT16, 1e39, 1)).isTrue();
        assertThat(flagOf(DType.FLOAT32, DType.FLOAT32, 3e38, 2)).isTrue();
        assertThat(flagOf(DType.FLOAT16, DType.FLOAT16, 60_000, 2)).isTrue();
        assertThat(flagOf(DType.FLOAT16, DType.FLOAT64, 60_000, 2)).isFalse();
    }

    private static boolean flagOf(DType from, DType to, double value, double scale) throws Exception {
        byte[] source = new byte[64 * from.bytes()];
        put(from, source, 40, value);
        return checked(new Conversion(from, to, scale), Layout.single(64), List.of(source))
                .get(0)
                .nonFinite();
    }

    /** Checked launches, one for each source, whose elements must be the converter's too. */
    private static List<Outcome> checked(Conversion conversion, Layout layout, List<byte[]> sources) throws Exception {
        byte[] before = untouched(conversion, layout);
        List<Outcome> outcomes = gpu.run(sources.stream()
                .map(source -> new Launch(
                        conversion.kernel(true), conversion.scale(), layout.segments(conversion), source, before))
                .toList());
        for (int i = 0; i < sources.size(); i++) {
            byte[] expected = converted(conversion, layout, sources.get(i), before);
            assertThat(Arrays.mismatch(outcomes.get(i).target(), expected))
                    .as("%s, first byte that differs", conversion)
                    .isEqualTo(-1);
        }
        return outcomes;
    }

    private static void assertEqual(Stream<Conversion> conversions, Layout layout, byte[] source) throws Exception {
        List<Conversion> all = conversions.toList();
        List<Launch> launches = all.stream()
                .flatMap(conversion -> Stream.of(false, true)
                        .map(checked -> new Launch(
                                conversion.kernel(checked),
                                conversion.scale(),
                                layout.segments(conversion),
                                source,
                                untouched(conversion, layout))))
                .toList();
        List<Outcome> outcomes = gpu.run(launches);
        List<byte[]> converted = all.stream()
                .map(conversion -> converted(conversion, layout, source, untouched(conversion, layout)))
                .toList();
        for (int i = 0; i < launches.size(); i++) {
            Conversion conversion = all.get(i / 2);
            byte[] expected = converted.get(i / 2);
            int differs = Arrays.mismatch(outcomes.get(i).target(), expected);
            if (differs >= 0) {
                int element = differs / conversion.to().bytes();
                throw new AssertionError(
                        conversion + " by " + launches.get(i).kernel() + ", seed " + SEED + ": element "
                                + element + " of the destination is "
                                + hex(conversion, outcomes.get(i).target(), element)
                                + ", expected " + hex(conversion, expected, element));
            }
        }
    }

    private static byte[] converted(Conversion conversion, Layout layout, byte[] source, byte[] before) {
        ByteBuffer from = direct(source);
        ByteBuffer to = direct(before);
        Tensor tensor = Tensor.wrap(from, conversion.from(), Shape.of(layout.sourceElements()));
        Converter converter = new Converter();
        for (Run run : layout.runs()) {
            int at = run.to() * conversion.to().bytes();
            converter.pack(tensor, run.from(), run.count(), to, at, conversion.to(), conversion.scale());
        }
        byte[] bytes = new byte[before.length];
        to.get(0, bytes);
        return bytes;
    }

    private static ByteBuffer direct(byte[] bytes) {
        return ByteBuffer.allocateDirect(bytes.length).put(bytes).clear().order(ByteOrder.nativeOrder());
    }

    private static byte[] untouched(Conversion conversion, Layout layout) {
        byte[] bytes = new byte[layout.targetElements() * conversion.to().bytes()];
        Arrays.fill(bytes, UNTOUCHED);
        return bytes;
    }

    private static String hex(Conversion conversion, byte[] bytes, int element) {
        return Long.toHexString(bits(conversion.to(), ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()), element));
    }

    private static long bits(DType type, ByteBuffer buffer, int element) {
        return switch (type.bytes()) {
            case 1 -> buffer.get(element) & 0xff;
            case 2 -> buffer.getShort(2 * element) & 0xffff;
            case 4 -> buffer.getInt(4 * element) & 0xffff_ffffL;
            default -> buffer.getLong(8 * element);
        };
    }

    private static void setBits(DType type, ByteBuffer buffer, int element, long bits) {
        switch (type.bytes()) {
            case 1 -> buffer.put(element, (byte) bits);
            case 2 -> buffer.putShort(2 * element, (short) bits);
            case 4 -> buffer.putInt(4 * element, (int) bits);
            default -> buffer.putLong(8 * element, bits);
        }
    }

    private static byte[] filled(DType type, int count, LongSupplier bits) {
        byte[] bytes = new byte[count * type.bytes()];
        ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
        for (int i = 0; i < count; i++) {
            setBits(type, buffer, i, bits.getAsLong());
        }
        return bytes;
    }

    /** Turns exponents of infinities and NaNs into smaller ones. */
    private static void keepFinite(DType type, byte[] bytes) {
        long topOfExponent =
                switch (type) {
                    case FLOAT32 -> 1L << 30;
                    case FLOAT64 -> 1L << 62;
                    case FLOAT16, BFLOAT16 -> 1L << 14;
                    default -> 0;
                };
        ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
        for (int i = 0; i < bytes.length / type.bytes(); i++) {
            setBits(type, buffer, i, bits(type, buffer, i) & ~topOfExponent);
        }
    }

    private static void put(DType type, byte[] bytes, int element, double value) {
        long bits =
                switch (type) {
                    case FLOAT32 -> Float.floatToRawIntBits((float) value);
                    case FLOAT64 -> Double.doubleToRawLongBits(value);
                    case FLOAT16 -> HalfFloat.toFloat16(value);
                    case BFLOAT16 -> HalfFloat.toBfloat16(value);
                    default -> (long) value;
                };
        setBits(type, ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()), element, bits);
    }

    /** Every sign, exponent and upper bits of a significand, each with what decides how it is rounded. */
    private static long[] telltale(DType type) {
        return switch (type) {
            case FLOAT32 ->
                LongStream.range(0, 1 << 16)
                        .flatMap(upper -> LongStream.of(
                                        0, 1, 0x0fff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000, 0x7fff, 0x8000, 0x8001,
                                        0xffff)
                                .map(lower -> upper << 16 | lower))
                        .toArray();
            case FLOAT64 ->
                LongStream.range(0, 1 << 12)
                        .flatMap(exponent -> LongStream.of(
                                        0x0000, 0x0001, 0x001f, 0x0020, 0x0021, 0x0040, 0x0060, 0x0fff, 0x1000, 0x2000,
                                        0x8000, 0xffc0, 0xffe0, 0xffff)
                                .flatMap(upper -> LongStream.of(
                                                0, 1, 1L << 28, 1L << 29, (1L << 29) - 1, 1L << 35, (1L << 36) - 1)
                                        .map(lower -> exponent << 52 | upper << 36 | lower)))
                        .toArray();
            case INT32, INT64 ->
                LongStream.range(0, 64)
                        .flatMap(power -> LongStream.of((1L << power) - 1, 1L << power, -(1L << power), ~(1L << power)))
                        .toArray();
            default -> LongStream.range(0, 1 << 16).toArray();
        };
    }

    /** Elements of the source that become elements of the destination; places are counted in elements. */
    private record Run(int from, int to, int count) {}

    /** Runs and the lengths of the memory around them. */
    private record Layout(List<Run> runs, int sourceElements, int targetElements) {
        static Layout single(int count) {
            return new Layout(List.of(new Run(0, 0, count)), count, count);
        }

        /** A hundred segments of all sizes, most of them at addresses that are no multiple of 16. */
        static Layout mixed() {
            List<Run> runs = new ArrayList<>();
            int from = 0;
            int to = 5;
            for (int i = 0; i < 100; i++) {
                boolean aligned = i % 3 == 0;
                from = aligned ? (from + 15) / 16 * 16 : from + i % 5;
                to = aligned ? (to + 15) / 16 * 16 : to + 3 * i % 7;
                int count = SIZES[i * 7 % SIZES.length];
                runs.add(new Run(from, to, count));
                from += count;
                to += count;
            }
            return new Layout(runs, from, to + 3);
        }

        List<DeviceSegment> segments(Conversion conversion) {
            return segments(conversion.from().bytes(), conversion.to().bytes());
        }

        List<DeviceSegment> segments(int fromBytes, int toBytes) {
            return runs.stream()
                    .map(run -> new DeviceSegment(
                            HostGpu.START + (long) run.from() * fromBytes,
                            HostGpu.START + (long) run.to() * toBytes,
                            run.count()))
                    .toList();
        }
    }
}
