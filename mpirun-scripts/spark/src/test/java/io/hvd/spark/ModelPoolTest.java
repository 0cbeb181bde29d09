package io.hvd.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spark.columns.ColumnBatch;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ModelPoolTest {
    private record Closing(CountDownLatch closed, boolean fails) implements BatchModel<int[]> {
        @Override
        public int[] predict(ColumnBatch batch) {
            return new int[batch.rows()];
        }

        @Override
        public void close() {
            closed.countDown();
            if (fails) {
                throw new IllegalStateException("as a test wants it");
            }
        }
    }

    @Test
    void aModelThatWasGivenBackIsTakenAgain() {
        var pool = new ModelPool<int[]>();
        var model = new Closing(new CountDownLatch(1), false);

        assertThat(pool.take()).isEmpty();
        pool.give(model);
        assertThat(pool.take()).containsSame(model);
        assertThat(pool.take()).isEmpty();
    }

    @Test
    void theModelsOfAPoolThatNobodyHasAnyMoreAreClosedAlsoIfOneFails() throws Exception {
        var closed = new CountDownLatch(3);
        fill(closed);

        while (!closed.await(20, TimeUnit.MILLISECONDS)) {
            System.gc();
        }
    }

    private static void fill(CountDownLatch closed) {
        var pool = new ModelPool<int[]>();
        pool.give(new Closing(closed, false));
        pool.give(new Closing(closed, true));
        pool.give(new Closing(closed, false));
        assertThat(closed.getCount()).isEqualTo(3);
    }
}
