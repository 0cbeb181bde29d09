package io.hvd.testing;

import io.hvd.AllreduceOptions;
import io.hvd.Elastic;
import io.hvd.ElasticState;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * An elastic job that counts in each step how often each sample of a data set was drawn. At its end every sample must have been
 * drawn once in each epoch, whatever has happened to the ranks.
 *
 * <p>Arguments: the number of epochs, the length of a step in milliseconds, and then faults: {@code die=W@S} ends the process of
 * worker W in step S, {@code sync=W@G} ends it while generation G takes over the state, {@code throw=W@S} lets its body throw.
 * With {@code await=N} the last epoch begins only once there are N ranks: they commit steps without samples until then.
 */
public final class ElasticProgram {
    private static final int SAMPLES = 240;
    private static final int BATCH = 4;
    private static final int KILLED = 137;
    private static final String AWAIT = "await=";

    private final long[] counts = new long[SAMPLES];
    /** Samples drawn by all ranks together, over all epochs. */
    private final long[] drawn = new long[1];

    private final int worker = Integer.parseInt(System.getenv().getOrDefault("HOROVOD_RANK", "0"));
    private final int epochs;
    private final long stepMillis;
    private final String[] faults;
    private final int awaited;
    private int generation = -1;

    private ElasticProgram(String... args) {
        epochs = Integer.parseInt(args[0]);
        stepMillis = Long.parseLong(args[1]);
        faults = Arrays.copyOfRange(args, 2, args.length);
        awaited = Arrays.stream(faults)
                .filter(fault -> fault.startsWith(AWAIT))
                .mapToInt(fault -> Integer.parseInt(fault.substring(AWAIT.length())))
                .findFirst()
                .orElse(0);
    }

    public static void main(String[] args) throws Exception {
        new ElasticProgram(args).run();
    }

    private void run() throws Exception {
        System.out.println(
                "worker " + worker + " pid " + ProcessHandle.current().pid() + " ");
        var state = new Counts();
        Elastic.run(state, this::train);
        boolean each = Arrays.stream(counts).allMatch(count -> count == epochs);
        System.out.println("ended drawn " + drawn[0] + " each " + each + " hash " + Arrays.hashCode(counts));
    }

    /** What the ranks have in common. */
    private final class Counts implements ElasticState {
        @Override
        public void sync(HvdContext ranks, int root) {
            generation++;
            if (isFault("sync", generation)) {
                Runtime.getRuntime().halt(KILLED);
            }
            take(counts, ranks, "counts", root);
            take(drawn, ranks, "drawn", root);
        }

        private void take(long[] into, ProcessSet ranks, String name, int root) {
            long[] all = (long[]) ranks.broadcast(name, Tensor.of(into), root).toArray();
            System.arraycopy(all, 0, into, 0, all.length);
        }

        /** All that are there take part. */
        @Override
        public void changing(HvdContext ranks) {
            long there = (long) ranks.allreduce("there", Tensor.of(1L), AllreduceOptions.of(ReduceOp.SUM))
                    .item();
            System.out.println("worker " + worker + " changes among " + there);
        }

        @Override
        public Runnable backup() {
            long[] before = counts.clone();
            long drawnBefore = drawn[0];
            return () -> {
                System.arraycopy(before, 0, counts, 0, before.length);
                drawn[0] = drawnBefore;
            };
        }
    }

    private boolean isFault(String kind, long when) {
        return Arrays.asList(faults).contains(kind + "=" + worker + "@" + when);
    }

    private void train(Elastic elastic) throws InterruptedException {
        HvdContext hvd = elastic.context();
        System.out.println("generation " + elastic.generation() + " rank " + hvd.rank() + " of " + hvd.size()
                + " worker " + worker + " step " + elastic.step());
        while (drawn[0] < (long) epochs * SAMPLES) {
            if (isFault("die", elastic.step())) {
                Runtime.getRuntime().halt(KILLED);
            }
            if (isFault("throw", elastic.step())) {
                throw new IllegalStateException("a mistake in the program");
            }
            if (isLastEpoch() && hvd.size() < awaited) {
                TimeUnit.MILLISECONDS.sleep(stepMillis);
            } else {
                step(hvd);
            }
            elastic.commit();
        }
    }

    private boolean isLastEpoch() {
        return drawn[0] >= (epochs - 1L) * SAMPLES;
    }

    private void step(HvdContext hvd) throws InterruptedException {
        int place = (int) (drawn[0] % SAMPLES);
        int together = Math.min(hvd.size() * BATCH, SAMPLES - place);
        long[] mine = new long[SAMPLES];
        for (int i = hvd.rank(); i < together; i += hvd.size()) {
            mine[place + i]++;
        }
        TimeUnit.MILLISECONDS.sleep(stepMillis);
        long[] all = (long[]) hvd.allreduce("drawn", Tensor.of(mine), AllreduceOptions.of(ReduceOp.SUM))
                .toArray();
        for (int i = 0; i < SAMPLES; i++) {
            counts[i] += all[i];
        }
        drawn[0] += together;
    }
}
