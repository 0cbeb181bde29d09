package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.error.BarrierTimeoutException;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Calls of the ranks beside steps that they no longer negotiate: each waits for those who take part in it and for nobody
 * else, least of all for a rank that computes.
 */
public class StepExitContractTest extends Contract {
    private static final int STEPS = 30;
    private static final int TENSORS = 3;
    /** Far more than the ranks need to come. */
    private static final Duration LIMIT = Duration.ofSeconds(8);

    private static void settle(HvdContext hvd, String model) {
        for (int step = 0; step < STEPS; step++) {
            begin(hvd, model, 0, TENSORS).forEach(handle -> requireSum(hvd, handle));
        }
    }

    /** Submits a part of a step and goes on. */
    private static List<Handle> begin(HvdContext hvd, String model, int from, int to) {
        List<Handle> handles = new ArrayList<>();
        for (int i = from; i < to; i++) {
            handles.add(
                    hvd.allreduceAsync(model + "." + i, Tensor.of(hvd.rank() + 1f, i, -1f), AllreduceOptions.sum()));
        }
        return handles;
    }

    private static void requireSum(HvdContext hvd, Handle handle) {
        assertThat(handle.synchronize().toFloatArray()[0])
                .as(handle.name())
                .isEqualTo(hvd.size() * (hvd.size() + 1) / 2f);
    }

    /** Between the first two ranks. */
    private static void transfer(HvdContext hvd) {
        if (hvd.rank() == 0) {
            hvd.send(Tensor.of(42f), 1, 7);
        } else if (hvd.rank() == 1) {
            Tensor received = Tensor.of(0f);
            hvd.receive(received, 0, 7);
            assertThat(received.item()).isEqualTo(42f);
        }
    }

    private static boolean isLast(HvdContext hvd) {
        return hvd.rank() == hvd.size() - 1;
    }

    @Test
    void aBarrierWithALimitEndsThoughARankHasSomethingNewUnderWay() throws Exception {
        onAllOf(2, hvd -> {
            for (int round = 0; round < 3; round++) {
                settle(hvd, "new");
                List<Handle> news = hvd.rank() == 1 ? begin(hvd, "new.other", 0, 1) : List.of();
                hvd.monitoredBarrier(LIMIT);
                (hvd.rank() == 1 ? news : begin(hvd, "new.other", 0, 1)).forEach(handle -> requireSum(hvd, handle));
            }
            return null;
        });
    }

    @Test
    void aBarrierWithALimitEndsThoughARankHasAPartOfAStepUnderWay() throws Exception {
        onAllOf(2, hvd -> {
            for (int round = 0; round < 3; round++) {
                settle(hvd, "part");
                int some = hvd.rank() % TENSORS;
                List<Handle> step = new ArrayList<>(begin(hvd, "part", 0, some));
                hvd.monitoredBarrier(LIMIT);
                step.addAll(begin(hvd, "part", some, TENSORS));
                step.forEach(handle -> requireSum(hvd, handle));
            }
            return null;
        });
    }

    @Test
    void aTransferNeedsNoRankThatComputes() throws Exception {
        onAllOf(3, hvd -> {
            settle(hvd, "transfer");
            Computation computation = Computation.agreed(hvd);
            settle(hvd, "transfer");
            if (isLast(hvd)) {
                computation.run();
            }
            transfer(hvd);
            if (hvd.rank() == 1) {
                computation.finish();
            }
            settle(hvd, "transfer");
            return null;
        });
    }

    /** The communication threads of those who transfer wait inside the data plane for the one who computes. */
    @Test
    void aTransferNeedsNoRankThatComputesThoughAWholeStepIsUnderWay() throws Exception {
        onAllOf(3, hvd -> {
            Computation computation = Computation.agreed(hvd);
            settle(hvd, "whole");
            if (isLast(hvd)) {
                computation.run();
            }
            List<Handle> step = begin(hvd, "whole", 0, TENSORS);
            step.get(0).poll();
            transfer(hvd);
            if (hvd.rank() == 1) {
                computation.finish();
            }
            step.forEach(handle -> requireSum(hvd, handle));
            settle(hvd, "whole");
            return null;
        });
    }

    @Test
    void aTensorThatAllHaveBroughtNeedsNoRankThatComputesBeforeItBringsTheNextOne() throws Exception {
        onAllOf(2, hvd -> {
            Computation computation = Computation.agreed(hvd);
            settle(hvd, "next");
            List<Handle> step = new ArrayList<>(begin(hvd, "next", 0, 1));
            if (isLast(hvd)) {
                computation.run();
            }
            step.addAll(begin(hvd, "next", 1, TENSORS));
            requireSum(hvd, step.get(0));
            if (hvd.rank() == 0) {
                computation.finish();
            }
            step.forEach(handle -> requireSum(hvd, handle));
            return null;
        });
    }

    @Test
    void aBarrierWithALimitEndsAfterATransfer() throws Exception {
        onAllOf(3, hvd -> {
            for (int round = 0; round < 3; round++) {
                settle(hvd, "after");
                transfer(hvd);
                hvd.monitoredBarrier(LIMIT);
            }
            return null;
        });
    }

    /** The message names the rank that computes and no other, although all of them have a step under way. */
    @Test
    void aBarrierWithALimitNamesTheRankThatComputesThoughAWholeStepIsUnderWay() throws Exception {
        onAllOf(2, hvd -> {
            Computation computation = Computation.agreed(hvd);
            settle(hvd, "limit");
            List<Handle> step = begin(hvd, "limit", 0, isLast(hvd) ? 1 : TENSORS);
            if (isLast(hvd)) {
                computation.run();
            }
            // Within it all but the one that computes come, on few cores too.
            Duration limit = isLast(hvd) ? LIMIT : Duration.ofMillis(700);
            assertThatThrownBy(() -> hvd.monitoredBarrier(limit))
                    .isInstanceOf(BarrierTimeoutException.class)
                    .hasMessageContaining("ranks {" + (hvd.size() - 1) + "} had not come");
            if (hvd.rank() == 0) {
                computation.finish();
            }
            step.forEach(handle -> requireSum(hvd, handle));
            if (isLast(hvd)) {
                begin(hvd, "limit", 1, TENSORS).forEach(handle -> requireSum(hvd, handle));
            }
            settle(hvd, "limit");
            return null;
        });
    }

    /** The tensors of a group are of several types and travel one after the other; what comes beside them ends the plan between. */
    @Test
    void aGroupThatIsHalfDoneWhenThePlanEndsIsCarriedOutToItsEnd() throws Exception {
        onAll(hvd -> {
            for (int step = 0; step < 60; step++) {
                List<Tensor> tensors = List.of(Tensor.of(1f), Tensor.of(2.0), Tensor.of(3), Tensor.of(4L));
                List<Handle> group = hvd.groupedAllreduceAsync("types", tensors, AllreduceOptions.sum());
                Handle beside = step % 15 == 14
                        ? hvd.allreduceAsync("beside" + step, Tensor.of(5f), AllreduceOptions.sum())
                        : null;
                for (int i = 0; i < tensors.size(); i++) {
                    assertThat(group.get(i).synchronize().toFloatArray()[0])
                            .as("%s in step %s", group.get(i).name(), step)
                            .isEqualTo((i + 1f) * hvd.size());
                }
                if (beside != null) {
                    assertThat(beside.synchronize().item()).isEqualTo(5f * hvd.size());
                }
            }
            return null;
        });
    }
}
