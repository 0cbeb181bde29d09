package io.hvd.launch;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.tensor.Tensor;
import java.util.concurrent.CountDownLatch;

/** Program of a launched job: hands back what each rank sees, or fails, or waits, as its argument says. */
public final class ScoreProgram implements LaunchedProgram<String> {

    @Override
    public String run(HvdContext hvd, String... args) throws InterruptedException {
        Tensor mine = Tensor.of(new float[] {hvd.rank() + 1});
        hvd.allreduceInPlace("score", mine, AllreduceOptions.sum());
        if (hvd.rank() == 1 && args[0].equals("fail")) {
            throw new IllegalStateException("the score is NaN");
        }
        if (args[0].equals("fail")) {
            hvd.barrier();
        }
        if (args[0].equals("wait")) {
            System.out.println("PID " + ProcessHandle.current().pid());
            new CountDownLatch(1).await();
        }
        return "rank " + hvd.rank() + " of " + hvd.size() + " sum " + ((float[]) mine.toArray())[0] + " in "
                + System.getProperty("user.dir") + " with " + System.getenv("SCORE") + " " + System.getProperty("mark");
    }

    @Override
    public ObjectCodec<String> codec() {
        return ObjectCodec.utf8();
    }
}
