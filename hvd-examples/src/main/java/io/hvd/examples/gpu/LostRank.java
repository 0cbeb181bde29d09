package io.hvd.examples.gpu;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.examples.gpu.CheckLine.Outcome;
import io.hvd.transport.nccl.ShrinkTrial;
import io.hvd.transport.nccl.ShrinkTrial.Result;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;

/**
 * The part of G2 in which the last rank does not come to an allreduce. The others abort it, make a communicator without
 * that rank by {@code ncclCommShrink}, and allreduce over it. hvd itself does not go on after the loss of a rank.
 */
final class LostRank {
    static final String NAME = "G2.shrink";

    private LostRank() {}

    /** All ranks of the job call it. An error of NCCL's leaves it, and so ends the job. */
    static CheckLine check(HvdContext hvd, Extent extent) {
        if (!hvd.backend().startsWith("nccl ")) {
            return new CheckLine(NAME, Outcome.NOT_RUN, "the back end is " + hvd.backend());
        }
        // The ranks have one version of NCCL, so either all of them have the function or none has.
        Optional<String> obstacle = ShrinkTrial.obstacle();
        if (obstacle.isPresent()) {
            return new CheckLine(NAME, Outcome.NOT_RUN, obstacle.get());
        }
        try (ShrinkTrial trial = ShrinkTrial.open(hvd.device(), Math.toIntExact(extent.dyingBytes() / Float.BYTES))) {
            String id = HexFormat.of().formatHex(hvd.rank() == 0 ? trial.uniqueId() : new byte[0]);
            byte[] shared = HexFormat.of().parseHex(hvd.broadcastObject("gpu_check.shrink", id, ObjectCodec.utf8(), 0));
            return line(trial.run(shared, hvd.rank(), hvd.size(), hvd::barrier), hvd.rank(), hvd.size());
        }
    }

    static CheckLine line(Result seen, int rank, int size) {
        if (!seen.wrong().isEmpty()) {
            return new CheckLine(NAME, Outcome.FAIL, "rank " + rank + ": " + seen.wrong());
        }
        return new CheckLine(
                NAME,
                Outcome.PASS,
                String.format(
                        Locale.ROOT,
                        "rank %d did not come to an allreduce; %d rank(s) aborted it, shrank and had the right result"
                                + " after %.1f ms",
                        size - 1,
                        size - 1,
                        seen.millis()));
    }
}
