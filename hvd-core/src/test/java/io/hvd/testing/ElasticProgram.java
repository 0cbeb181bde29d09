package io.hvd.testing;

import io.hvd.AllreduceOptions;
import io.hvd.Elastic;
import io.hvd.ElasticState;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * An elastic job that counts in each step how often each sample of a data set was drawn. At its end every sample must have been
 * drawn once in each epoch, whatever has happened to the ranks.
 *
 * <p>Arguments: the number of epochs, the length of a step in milliseconds, and then {@code throw=W@S}, which lets the body of
 * worker W throw in step S, {@code set}, with which the first two ranks have a process set, {@code await=N}, with which the last
 * epoch begins only once there are N ranks, or {@code until=FILE}, with which that of a single rank begins only once there is
 * that file: they commit steps without samples until then.
 */
public final class ElasticProgram {
    private static final int SAMPLES = 240;
    private static final int BATCH = 4;
    private static final String AWAIT = "await=";
    private static final String UNTIL = "until=";

    private final long[] counts = new long[SAMPLES];
    /** Samples drawn by all ranks together, over all epochs. */
    private final long[] drawn = new long[1];

    private final int worker = Integer.parseInt(System.getenv().getOrDefault("HOROVOD_RANK", "0"));
    private final int epochs;
    private final long stepMillis;
    private final List<String> options;
    private final int awaited;
    private final Optional<Path> until;

    private ElasticProgram(String... args) {
        epochs = Integer.parseInt(args[0]);
        stepMillis = Long.parseLong(args[1]);
        options = Arrays.asList(args).subList(2, args.length);
        awaited = option(AWAIT).map(Integer::parseInt).orElse(0);
        until = option(UNTIL).map(Path::of);
    }

    private Optional<String> option(String name) {
        return options.stream()
                .filter(option -> option.startsWith(name))
                .map(option -> option.substring(name.length()))
                .findFirst();
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

    private void train(Elastic elastic) throws InterruptedException {
        HvdContext hvd = elastic.context();
        System.out.println("generation " + elastic.generation() + " rank " + hvd.rank() + " of " + hvd.size()
                + " worker " + worker + " step " + elastic.step());
        ProcessSet firstTwo = options.contains("set") ? hvd.addProcessSet(List.of(0, 1)) : null;
        while (drawn[0] < (long) epochs * SAMPLES) {
            if (firstTwo != null && firstTwo.included()) {
                Tensor ranks = firstTwo.allgather("ranks", Tensor.of(new long[] {hvd.rank()}));
                System.out.println(
                        "generation " + elastic.generation() + " set of " + Arrays.toString((long[]) ranks.toArray()));
            }
            if (options.contains("throw=" + worker + "@" + elastic.step())) {
                throw new IllegalStateException("a mistake in the program");
            }
            if (isLastEpoch() && (hvd.size() < awaited || until.isPresent() && Files.notExists(until.get()))) {
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
