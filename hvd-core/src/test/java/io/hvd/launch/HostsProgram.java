package io.hvd.launch;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.util.concurrent.CountDownLatch;

/** Program of a test job: says where each rank is and what it sees, then ends or waits to be ended. */
final class HostsProgram {

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
                    + ProcessHandle.current().pid());
            if (args.length > 0) {
                System.out.println("ready");
                hvd.barrier();
                new CountDownLatch(1).await();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
