package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.DType;
import io.hvd.tensor.ElementRun;
import io.hvd.tensor.Shape;
import io.hvd.tensor.SplitMemory;
import io.hvd.tensor.Tensor;
import io.hvd.train.safetensors.CheckpointReader;
import io.hvd.train.safetensors.Wanted;
import java.io.IOException;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The way of tensors that are longer than a piece, and than a buffer may be; both are small here. */
class CheckpointPiecesTest {
    /** Beyond the size up to which a tensor lies in an array once it is read. */
    private static final int ELEMENTS = 20_001;

    @TempDir
    Path folder;

    @BeforeAll
    static void readyTorch() {
        io.hvd.optimizer.torch.TorchRuntime.prepare();
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 24, 4096, 80_000, 1 << 20})
    void theFileIsTheSameWhateverTheSizeOfAPiece(int pieceBytes) throws IOException {
        Path atOnce = folder.resolve("at.once");
        Path inPieces = folder.resolve("in.pieces");
        Checkpoint checkpoint = new Checkpoint(new TreeMap<>(everyKind()), Map.of("epoch", "1"));

        checkpoint.write(atOnce);
        checkpoint.write(inPieces, pieceBytes);

        assertThat(inPieces).hasSameBinaryContentAs(atOnce);
    }

    @ParameterizedTest
    @CsvSource({"8, 8", "24, 4096", "4096, 24", "1048576, 65536", "80000, 1048576"})
    void everyKindOfMemoryComesBackWhateverTheSizesOfPiecesAndBuffers(int pieceBytes, int longestBuffer)
            throws IOException {
        Path file = folder.resolve("file");
        Map<String, Tensor> tensors = everyKind();
        new Checkpoint(new TreeMap<>(tensors), Map.of()).write(file, pieceBytes);

        Map<String, Tensor> read =
                Checkpoint.read(file, pieceBytes, longestBuffer).tensors();

        assertThat(read.keySet()).isEqualTo(tensors.keySet());
        tensors.forEach((name, tensor) -> {
            assertThat(read.get(name).shape()).as(name).isEqualTo(tensor.shape());
            assertThat(read.get(name).toArray()).as(name).isEqualTo(tensor.toArray());
        });
    }

    /** Runs that begin and end within pieces, at their ends, and beyond; each has the elements that the whole tensor has there. */
    @ParameterizedTest
    @ValueSource(ints = {8, 24, 4096, 1 << 20})
    void someElementsOfATensorAreAVector(int pieceBytes) throws IOException {
        Path file = folder.resolve("file");
        Map<String, Tensor> tensors = everyKind();
        new Checkpoint(new TreeMap<>(tensors), Map.of()).write(file);
        for (ElementRun run :
                List.of(new ElementRun(0, 0), new ElementRun(1, 1), new ElementRun(0, 3), new ElementRun(1023, 1026))) {
            Wanted wanted = (name, shape) -> run.isWithin(shape) ? Optional.of(run) : Optional.empty();
            Map<String, Tensor> read;
            try (FileChannel channel = FileChannel.open(file)) {
                read = new CheckpointReader(file, channel, pieceBytes, 4096)
                        .read(wanted)
                        .tensors();
            }
            assertThat(read).isNotEmpty();
            read.forEach((name, part) -> {
                Tensor whole = tensors.get(name);
                assertThat(part.dtype()).isEqualTo(whole.dtype());
                if (run.elements() < whole.elements()) {
                    assertThat(part.shape()).isEqualTo(Shape.of(run.elements()));
                }
                Object all = whole.toArray();
                for (int i = 0; i < run.elements(); i++) {
                    assertThat(Array.get(part.toArray(), i))
                            .as("%s, element %d of %s", name, i, run)
                            .isEqualTo(Array.get(all, (int) run.from() + i));
                }
            });
        }
    }

    @Test
    void whatIsLongerThanABufferIsReadIntoSeveral() throws IOException {
        Path file = folder.resolve("file");
        new Checkpoint(new TreeMap<>(Map.of("t", array())), Map.of()).write(file);
        assertThat(Checkpoint.read(file, 4096, 65_536).tensors().get("t").memory())
                .isInstanceOf(SplitMemory.class);
    }

    @Test
    void aFlippedBitInTheMiddleOfAPieceIsSeen() throws IOException {
        Path file = folder.resolve("file");
        new Checkpoint(new TreeMap<>(Map.of("t", array())), Map.of()).write(file, 4096);
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length / 2] ^= 16;
        Files.write(file, bytes);
        assertThat(org.assertj.core.api.Assertions.catchThrowable(() -> Checkpoint.read(file, 24, 4096)))
                .hasMessageContaining("CRC-32C");
    }

    private static Map<String, Tensor> everyKind() {
        Map<String, Tensor> tensors = new TreeMap<>();
        tensors.put("array", array());
        tensors.put("part", Tensor.wrap(new double[ELEMENTS + 7], 3, ELEMENTS, DType.FLOAT64, Shape.of(ELEMENTS)));
        tensors.put("direct", Tensor.wrap(direct(0, ELEMENTS), DType.INT8, Shape.of(ELEMENTS)));
        tensors.put("split", split());
        tensors.put(
                "torch",
                TorchTensors.alias("torch", torch.arange(new Scalar(ELEMENTS)).to(torch.ScalarType.Float)));
        tensors.put("empty", Tensor.zeros(DType.FLOAT32, Shape.of(3, 0)));
        tensors.put("bytes", Tensor.ofBytes(new byte[] {1, 2, 3}));
        return tensors;
    }

    private static Tensor array() {
        long[] values = new long[ELEMENTS];
        for (int i = 0; i < ELEMENTS; i++) {
            values[i] = 0x9E3779B97F4A7C15L * i;
        }
        return Tensor.wrap(values, DType.INT64, Shape.of(ELEMENTS));
    }

    /** Borders that no piece has. */
    private static Tensor split() {
        List<ByteBuffer> parts = new ArrayList<>();
        int[] borders = {0, 2, 1_000, 1_006, 40_000, 2 * ELEMENTS};
        for (int i = 1; i < borders.length; i++) {
            parts.add(direct(borders[i - 1], borders[i]));
        }
        return Tensor.wrap(parts, DType.INT16, Shape.of(ELEMENTS));
    }

    private static ByteBuffer direct(int from, int to) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(to - from).order(ByteOrder.nativeOrder());
        for (int i = from; i < to; i++) {
            bytes.put((byte) (31 * i + i / 256));
        }
        return bytes.flip();
    }
}
