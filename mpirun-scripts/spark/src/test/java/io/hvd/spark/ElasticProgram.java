package io.hvd.spark;

import io.hvd.AllreduceOptions;
import io.hvd.Elastic;
import io.hvd.ElasticState;
import io.hvd.HvdContext;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/** A training that goes on until something has happened to it, and then for a while. */
final class ElasticProgram {
    private static final int DEADLY_STEP = 20;
    private static final int LAST_STEPS = 25;
    private static final long STEP_MILLIS = 5;

    private ElasticProgram() {}

    /**
     * What a worker has seen.
     *
     * @param firstStep with which it began
     * @param sum of the ranks of all steps
     */
    record Seen(int rank, int size, int generation, long firstStep, long steps, float sum) implements Serializable {}

    /** What happens once. */
    interface Event extends Serializable {
        void happen() throws Exception;
    }

    static void killExecutor() throws IOException {
        new ProcessBuilder("kill", "-9", String.valueOf(ProcessHandle.current().pid())).start();
        LockSupport.park();
    }

    static void failOnBadRow() {
        throw new IllegalStateException("a bad row");
    }

    static Seen failOnAllRanks() throws Exception {
        Elastic.run(new Sum(), elastic -> {
            for (int step = 0; step < DEADLY_STEP; step++) {
                elastic.context().barrier();
                elastic.commit();
            }
            throw new IllegalStateException("labels have 11 classes");
        });
        throw new AssertionError("it has trained");
    }

    /** The sum of the sizes that all steps had. */
    private static final class Sum implements ElasticState {
        private float[] sum = new float[1];

        @Override
        public void sync(HvdContext hvd, int root) {
            sum = (float[]) hvd.broadcast("sum", Tensor.of(sum), root).toArray();
        }

        @Override
        public Runnable backup() {
            float[] before = sum.clone();
            return () -> sum = before;
        }
    }

    /** @param once where a file says that the event has happened */
    static Seen run(int ranks, Path once, Event event) throws Exception {
        Sum state = new Sum();
        Seen[] seen = new Seen[1];
        long[] first = {-1};
        Elastic.run(state, elastic -> {
            first[0] = first[0] < 0 ? elastic.step() : first[0];
            seen[0] = train(elastic, ranks, state, first[0], once, event);
        });
        return seen[0];
    }

    /** A generation of all ranks behind the first one makes the last steps. */
    private static Seen train(Elastic elastic, int ranks, Sum state, long first, Path once, Event event)
            throws Exception {
        HvdContext hvd = elastic.context();
        long last = elastic.generation() > 0 && hvd.size() == ranks ? elastic.step() + LAST_STEPS : Long.MAX_VALUE;
        while (elastic.step() < last) {
            if (elastic.step() == DEADLY_STEP && hvd.rank() == ranks - 1 && !Files.exists(once)) {
                Files.createFile(once);
                event.happen();
            }
            Thread.sleep(STEP_MILLIS);
            Tensor size = hvd.allreduce("one", Tensor.of(new float[] {1}), AllreduceOptions.of(ReduceOp.SUM));
            state.sum[0] += ((float[]) size.toArray())[0];
            elastic.commit();
        }
        return new Seen(hvd.rank(), hvd.size(), elastic.generation(), first, elastic.step(), state.sum[0]);
    }
}
