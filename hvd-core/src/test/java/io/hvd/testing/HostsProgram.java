package io.hvd.testing;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.util.concurrent.CountDownLatch;

/** Program of a test job: says where each rank is and what it sees, then ends, as after a restart, or waits to be ended. */
public final class HostsProgram {

    /** Enough for the ranks to stop negotiating: then they wait inside MPI. */
    private static final int STEPS = 30;

    private HostsProgram() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            Tensor mine = Tensor.of(new float[] {hvd.rank() + 1});
            float sum = ((float[])
                            hvd.allreduce("ranks", mine, AllreduceOptions.sum()).toArray())
                    [0];
            System.out.println("rank " + hvd.rank() + " local " + hvd.localRank() + " of " + hvd.localSize() + " sum "
                    + sum + " cycle " + System.getenv("HOROVOD_CYCLE_TIME") + " secret "
                    + System.getenv("HOROVOD_SECRET_KEY") + " pid "
                    + ProcessHandle.current().pid() + " odd "
                    + String.valueOf(System.getenv("ODD_VALUE")).hashCode() + " cross " + hvd.crossRank() + " of "
                    + hvd.crossSize());
            if ("1".equals(System.getenv("TORCHELASTIC_RESTART_COUNT"))) {
                System.out.println("started again");
            } else if (args.length > 0 && args[0].equals("train")) {
                train(hvd, Integer.parseInt(args[1]));
            } else if (args.length > 0) {
                System.out.println("ready");
                hvd.barrier();
                new CountDownLatch(1).await();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** For ever, unless this is the rank that fails. */
    private static void train(HvdContext hvd, int failing) {
        for (int step = 0; ; step++) {
            hvd.allreduce("gradient", Tensor.of(new float[1000]), AllreduceOptions.average());
            if (step == STEPS) {
                System.out.println("ready");
                if (hvd.rank() == failing) {
                    throw new IllegalStateException("the loss is NaN");
                }
            }
        }
    }
}
