package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tensors of a little more than 2^31 bytes, each with a small one behind it. */
@Tag("long")
@Timeout(300)
class LargeCheckpointTest {
    private static final long BYTES = (1L << 31) + 16;

    @TempDir
    Path folder;

    @Test
    void anArrayOfMoreBytesThanAnIntegerCountsComesBack() throws IOException {
        long[] values = new long[(int) (BYTES / 8)];
        values[0] = 3;
        values[values.length - 1] = 5;
        Tensor read = thereAndBack(Tensor.of(values));
        assertThat(elements(read, 0)).containsExactly(3);
        assertThat(elements(read, values.length - 1)).containsExactly(5);
    }

    @Test
    void moreElementsThanAnArrayHoldsComeBack() throws IOException {
        Tensor tensor = Tensor.zeros(DType.UINT8, Shape.of(BYTES));
        byte[] marks = {7, 8};
        for (long at : new long[] {0, (Integer.MAX_VALUE & -8) - 1, BYTES - 2}) {
            tensor.hostMemory().write(DType.UINT8, at, marks, 2);
        }
        Tensor read = thereAndBack(tensor);
        for (long at : new long[] {0, (Integer.MAX_VALUE & -8) - 1, BYTES - 2}) {
            byte[] found = new byte[2];
            read.hostMemory().read(DType.UINT8, at, found, 2);
            assertThat(found).as("at element %d", at).isEqualTo(marks);
        }
    }

    @Test
    void aTensorOfLibTorchComesBackAndADamagedOneIsSeen() throws IOException {
        TorchRuntime.prepare();
        var options = new TensorOptions(torch.ScalarType.Long);
        try (var tensor = torch.zeros(new long[] {BYTES / 8}, options)) {
            tensor.data_ptr_long().put(BYTES / 8 - 1, 9);
            Tensor read = thereAndBack(TorchTensors.alias("large", tensor));
            assertThat(elements(read, BYTES / 8 - 1)).containsExactly(9);
        }
        flipABitBehind(1L << 31);
        assertThatThrownBy(() -> Checkpoint.read(file())).hasMessageContaining("CRC-32C");
    }

    private Tensor thereAndBack(Tensor large) throws IOException {
        new Checkpoint(new TreeMap<>(Map.of("large", large, "small", Tensor.of(1L, 2L))), Map.of()).write(file());
        Checkpoint read = Checkpoint.read(file());
        assertThat((long[]) read.tensors().get("small").toArray()).containsExactly(1, 2);
        assertThat(read.tensors().get("large").bytes()).isEqualTo(BYTES);
        return read.tensors().get("large");
    }

    private static long[] elements(Tensor tensor, long at) {
        long[] found = new long[1];
        tensor.hostMemory().read(DType.INT64, at, found, 1);
        return found;
    }

    private void flipABitBehind(long at) throws IOException {
        try (FileChannel channel = FileChannel.open(file(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer one = ByteBuffer.allocate(1);
            channel.read(one, at);
            channel.write(ByteBuffer.wrap(new byte[] {(byte) (one.get(0) ^ 1)}), at);
        }
    }

    private Path file() {
        return folder.resolve("large.safetensors");
    }
}
