package io.hvd.data.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.cuda.SimulatedGpu;
import io.hvd.data.DataLoaderException;
import io.hvd.data.Dataset;
import io.hvd.data.DistributedSampler;
import io.hvd.data.EvalSampler;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** On a GPU whose streams dawdle, so that a missing event shows; it proves no device. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class DeviceLoaderTest {
    private static final Device DEVICE = Device.cuda(0);
    private static final int SAMPLES = 43;
    private static final int BATCH = 4;

    /** Sample n is the numbers n and -n, and the label 10 n. */
    private static final BatchLayout<Integer> LAYOUT = new BatchLayout<>() {
        @Override
        public List<Field> fields() {
            return List.of(
                    new Field("pair", DType.FLOAT32, Shape.of(2)), new Field("label", DType.INT64, Shape.scalar()));
        }

        @Override
        public void write(Integer sample, List<ByteBuffer> to) {
            to.get(0).putFloat(sample).putFloat(-sample);
            to.get(1).putLong(10L * sample);
        }
    };

    private final SimulatedGpu gpu = new SimulatedGpu();

    private DeviceLoader<Integer> loader(Dataset<Integer> dataset, int workers, long stream) {
        return DeviceLoader.builder(dataset, new EvalSampler(dataset.size(), 1, 0), LAYOUT)
                .batchSize(BATCH)
                .workers(workers)
                .on(DEVICE, stream)
                .on(gpu.device())
                .build();
    }

    private static Dataset<Integer> numbers() {
        return Dataset.of(IntStream.range(0, SAMPLES).boxed().toList());
    }

    /** The user's work is queued on the user's stream only, and read when all is over. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void workOnTheUsersStreamFindsEveryBatchWholeThoughTheHostWaitsForNothing(int workers) throws Exception {
        gpu.enter();
        List<float[]> pairs = new ArrayList<>();
        List<float[]> labels = new ArrayList<>();
        int batches = 0;
        long stream;
        try (DeviceLoader<Integer> loader = loader(numbers(), workers, stream = gpu.createStream())) {
            assertThat(loader.batches()).isEqualTo(11);
            for (int epoch = 0; epoch < 3; epoch++) {
                for (DeviceBatch batch : loader) {
                    batches++;
                    Tensor pair = batch.fields().get(0);
                    Tensor label = batch.fields().get(1);
                    assertThat(pair.shape()).isEqualTo(Shape.of(batch.size(), 2));
                    assertThat(label.shape()).isEqualTo(Shape.of(batch.size()));
                    gpu.enqueue(stream, () -> pairs.add(read(pair)));
                    gpu.enqueue(stream, () -> labels.add(read(label)));
                }
            }
            gpu.awaitStream(stream);
        }
        assertThat(gpu.failure()).isNull();
        assertThat(batches).isEqualTo(33);
        List<Float> first = new ArrayList<>();
        List<Float> tens = new ArrayList<>();
        for (int i = 0; i < batches; i++) {
            for (int k = 0; k < labels.get(i).length; k++) {
                first.add(pairs.get(i)[2 * k]);
                assertThat(pairs.get(i)[2 * k + 1]).isEqualTo(-pairs.get(i)[2 * k]);
                tens.add(labels.get(i)[k]);
            }
        }
        List<Float> once = IntStream.range(0, SAMPLES).mapToObj(n -> (float) n).toList();
        assertThat(first.subList(0, SAMPLES)).isEqualTo(once);
        assertThat(first.subList(2 * SAMPLES, 3 * SAMPLES)).isEqualTo(once);
        assertThat(tens.subList(SAMPLES, 2 * SAMPLES))
                .isEqualTo(once.stream().map(n -> 10 * n).toList());
    }

    private float[] read(Tensor tensor) {
        long address = ((DeviceMemory) tensor.memory()).address();
        return gpu.read(address, tensor.dtype(), tensor.shape()).toFloatArray();
    }

    @Test
    void allMemoryIsGivenBackAlsoAfterAnEpochThatWasLeft() {
        int before;
        try (DeviceLoader<Integer> loader = loader(numbers(), 2, 0)) {
            before = gpu.blocks();
            int taken = 0;
            for (DeviceBatch batch : loader) {
                if (++taken == 3) {
                    break;
                }
            }
            for (DeviceBatch batch : loader) {
                assertThat(batch.size()).isPositive();
            }
            assertThat(gpu.blocks()).isEqualTo(before);
        }
        assertThat(gpu.blocks()).isZero();
        assertThat(gpu.failure()).isNull();
    }

    /** Its buffer goes to the next one, so that ten failures do not use up all of them. */
    @Test
    void aSampleThatCannotBeReadIsNamedAndTheLoaderGoesOn() {
        boolean[] broken = {true};
        Dataset<Integer> dataset = new Dataset<>() {
            @Override
            public int size() {
                return SAMPLES;
            }

            @Override
            public Integer get(int index) {
                if (broken[0] && index == 9) {
                    throw new IllegalStateException("sample 9 is torn");
                }
                return index;
            }
        };
        try (DeviceLoader<Integer> loader = loader(dataset, 1, 0)) {
            for (int i = 0; i < 10; i++) {
                assertThatThrownBy(() -> loader.forEach(batch -> {}))
                        .isInstanceOf(DataLoaderException.class)
                        .hasStackTraceContaining("sample 9 is torn");
            }
            broken[0] = false;
            int[] seen = {0};
            loader.forEach(batch -> seen[0] += batch.size());
            assertThat(seen[0]).isEqualTo(SAMPLES);
        }
    }

    @Test
    void aCpuIsRefusedAndSoIsABatchTooLargeForABuffer() {
        var sampler = DistributedSampler.builder(SAMPLES, 1, 0).build();
        assertThatThrownBy(() -> DeviceLoader.builder(numbers(), sampler, LAYOUT)
                        .on(Device.CPU, 0)
                        .build())
                .hasMessageContainingAll("cpu", "expected a GPU", "DataLoader");
        assertThatThrownBy(() -> DeviceLoader.builder(numbers(), sampler, LAYOUT)
                        .batchSize(1 << 28)
                        .on(DEVICE, 0)
                        .on(gpu.device())
                        .build())
                .hasMessageContainingAll("268435456 samples", "pair", "expected from 1 to");
    }
}
