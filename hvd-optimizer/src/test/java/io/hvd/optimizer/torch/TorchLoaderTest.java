package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.data.DataLoaderException;
import io.hvd.data.Dataset;
import io.hvd.data.EvalSampler;
import io.hvd.data.cuda.BatchLayout;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** On the CPU. What a GPU adds is DeviceLoader's, and tested there on a simulated one. */
class TorchLoaderTest {
    private static final int SAMPLES = 43;
    private static final int BATCH = 4;

    /** Sample n is the numbers n and -n, and the label 10 n. */
    private static final BatchLayout<Integer> LAYOUT = new BatchLayout<>() {
        @Override
        public List<Field> fields() {
            return List.of(
                    new Field("pair", DType.FLOAT32, Shape.of(1, 2)), new Field("label", DType.INT64, Shape.scalar()));
        }

        @Override
        public void write(Integer sample, List<ByteBuffer> to) {
            if (sample < 0) {
                throw new IllegalStateException("sample " + -sample + " is torn");
            }
            to.get(0).putFloat(sample).putFloat(-sample);
            to.get(1).putLong(10L * sample);
        }
    };

    @BeforeAll
    static void load() {
        TorchRuntime.load();
    }

    private static TorchLoader<Integer> loader(int workers, int... samples) {
        Dataset<Integer> dataset = Dataset.of(IntStream.of(samples).boxed().toList());
        return TorchLoader.builder(dataset, new EvalSampler(samples.length, 1, 0), LAYOUT)
                .batchSize(BATCH)
                .workers(workers)
                .on(Device.CPU)
                .build();
    }

    private static int[] numbers() {
        return IntStream.range(0, SAMPLES).toArray();
    }

    /** A step's scope may end between a batch's coming and its use. */
    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void aBatchStaysUntilTheNextOneWhateverScopeItCameIn(int workers) {
        try (TorchLoader<Integer> loader = loader(workers, numbers())) {
            var batches = loader.iterator();
            int next = 0;
            while (batches.hasNext()) {
                TorchBatch batch;
                try (PointerScope scope = new PointerScope()) {
                    batch = batches.next();
                }
                assertThat(batch.fields()).noneMatch(tensor -> tensor.isNull());
                assertThat(batch.fields().get(1).data_ptr_long().get(0)).isEqualTo(10L * next);
                next += batch.size();
                Tensor label = batch.fields().get(1);
                if (batches.hasNext()) {
                    batch = batches.next();
                    assertThat(label.isNull()).as("the batch before is closed").isTrue();
                    next += batch.size();
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void everySampleComesOnceInItsPlaceInEachEpoch(int workers) {
        try (TorchLoader<Integer> loader = loader(workers, numbers())) {
            assertThat(loader.batches()).isEqualTo(11);
            for (int epoch = 0; epoch < 2; epoch++) {
                int next = 0;
                for (TorchBatch batch : loader) {
                    Tensor pairs = batch.fields().get(0);
                    Tensor labels = batch.fields().get(1);
                    assertThat(TensorViews.shape(pairs)).isEqualTo(Shape.of(batch.size(), 1, 2));
                    assertThat(TensorViews.shape(labels)).isEqualTo(Shape.of(batch.size()));
                    for (int i = 0; i < batch.size(); i++, next++) {
                        assertThat(pairs.data_ptr_float().get(2L * i)).isEqualTo(next);
                        assertThat(pairs.data_ptr_float().get(2L * i + 1)).isEqualTo(-next);
                        assertThat(labels.data_ptr_long().get(i)).isEqualTo(10L * next);
                    }
                }
                assertThat(next).isEqualTo(SAMPLES);
            }
        }
    }

    @Test
    void aBatchEndsWithTheNextOneAndTheLastWithItsLoader() {
        List<TorchBatch> batches = new ArrayList<>();
        Tensor kept;
        try (TorchLoader<Integer> loader = loader(1, numbers())) {
            for (TorchBatch batch : loader) {
                batches.forEach(earlier -> assertThat(earlier.fields()).allMatch(tensor -> tensor.isNull()));
                assertThat(batch.fields()).noneMatch(tensor -> tensor.isNull());
                batches.add(batch);
            }
            kept = batches.get(10).fields().get(1).clone();
        }
        assertThat(batches.get(10).fields()).allMatch(tensor -> tensor.isNull());
        assertThat(kept.data_ptr_long().get(2)).isEqualTo(420);
    }

    @Test
    void aSampleThatCannotBeWrittenIsReportedAndTheLoaderGoesOn() {
        try (TorchLoader<Integer> loader = loader(2, 1, 2, 3, 4, -5, 6)) {
            for (int i = 0; i < 3; i++) {
                assertThatThrownBy(() -> loader.forEach(batch -> {}))
                        .isInstanceOf(DataLoaderException.class)
                        .hasStackTraceContaining("sample 5 is torn");
            }
        }
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void eachTypeIsLibTorchsOfTheSameName(DType type) {
        BatchLayout<Integer> layout = new BatchLayout<>() {
            @Override
            public List<Field> fields() {
                return List.of(new Field("all", type, Shape.of(3)));
            }

            @Override
            public void write(Integer sample, List<ByteBuffer> to) {
                assertThat(to.get(0).remaining()).isEqualTo(3 * type.bytes());
            }
        };
        try (TorchBatch batch = new TorchLayout<>(layout).onHost(List.of(1, 2))) {
            assertThat(TensorViews.typeOf("all", batch.fields().get(0))).isEqualTo(type);
        }
    }

    @Test
    void aGpuThatLibTorchCannotUseIsRefusedWithTheReason() {
        assertThatThrownBy(() -> TorchLoader.builder(Dataset.of(List.of(1)), new EvalSampler(1, 1, 0), LAYOUT)
                        .on(Device.cuda(3))
                        .build())
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-107", "cuda:3", "build for CPUs");
    }
}
