package io.hvd.contract.program;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Calls that cannot be right: they throw on the rank that makes them, and nobody else hears of it. */
public final class Refused {
    static final int VARIANTS = 10;

    private Refused() {}

    /** @return what is wrong; nothing if the call was refused as it should be */
    public static Optional<String> wrong(int variant, HvdContext hvd, ProcessSet set) {
        ErrorId expected =
                !set.included() ? ErrorId.NOT_A_MEMBER : variant == 1 ? ErrorId.UNSUPPORTED : ErrorId.BAD_ARGUMENT;
        try {
            call(variant, hvd, set);
            return Optional.of("refused call " + variant + " was not refused");
        } catch (HvdException refused) {
            return refused.id() == expected
                    ? Optional.empty()
                    : Optional.of(
                            "refused call " + variant + " was refused with " + refused + ", expected " + expected);
        }
    }

    private static void call(int variant, HvdContext hvd, ProcessSet set) {
        Tensor three = Tensor.of(1f, 2f, 3f);
        if (!set.included()) {
            callOfStranger(variant, set, three);
            return;
        }
        switch (variant) {
            case 0 -> set.reducescatter(null, three, AllreduceOptions.of(ReduceOp.MIN));
            case 1 -> set.allreduce(null, three, AllreduceOptions.of(ReduceOp.ADASUM));
            case 2 -> set.broadcast(null, three, hvd.size());
            case 3 -> set.send(three, hvd.rank(), 1);
            case 4 -> set.allreduce(null, Tensor.copyOf(true), AllreduceOptions.average());
            case 5 -> set.alltoall(null, three, new int[set.size() + 1]);
            case 6 -> set.allgather(null, Tensor.wrap(new float[1], DType.FLOAT32, Shape.of()));
            case 7 -> set.monitoredBarrier(Duration.ZERO);
            case 8 -> set.groupedAllreduce(null, List.of(three, Tensor.copyOf(true)), AllreduceOptions.average());
            default -> set.gather(null, three, -1);
        }
    }

    private static void callOfStranger(int variant, ProcessSet set, Tensor three) {
        switch (variant % 3) {
            case 0 -> set.allreduce("stranger", three);
            case 1 -> set.groupedAllgather("stranger", List.of(three));
            default -> set.barrier();
        }
    }
}
