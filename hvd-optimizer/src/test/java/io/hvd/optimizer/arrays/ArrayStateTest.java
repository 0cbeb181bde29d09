package io.hvd.optimizer.arrays;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Adadelta;
import io.hvd.optimizer.Adagrad;
import io.hvd.optimizer.Adam;
import io.hvd.optimizer.AdamW;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.Lamb;
import io.hvd.optimizer.Lars;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.RmsProp;
import io.hvd.optimizer.Sgd;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A state of an optimizer on arrays says whose it is. */
@Timeout(60)
class ArrayStateTest {
    private static final int WORDS_BEGIN = 2 * Integer.BYTES;

    private static final Map<String, Function<ArrayParameters, Optimizer>> KINDS = new LinkedHashMap<>();

    static {
        KINDS.put("Sgd without buffers", parameters -> new Sgd(parameters, 0.1));
        KINDS.put("Sgd with velocity", parameters -> new Sgd(parameters, 0.1, 0.9, 0));
        KINDS.put("Sgd with Nesterov's velocity", parameters -> Sgd.nesterov(parameters, 0.1, 0.9, 0));
        KINDS.put("RmsProp with means of squares", parameters -> new RmsProp(parameters, 0.1));
        KINDS.put(
                "RmsProp with means of squares and velocity",
                parameters -> new RmsProp(parameters, 0.1, 0.99, 1e-8, 0.5, 0));
        KINDS.put("Adagrad with sums of squares", parameters -> new Adagrad(parameters, 0.1));
        KINDS.put(
                "Adadelta with means of squares and means of squared steps",
                parameters -> new Adadelta(parameters, 0.1));
        KINDS.put("Adam with means and means of squares", parameters -> new Adam(parameters, 0.1));
        KINDS.put("AdamW with means and means of squares", parameters -> new AdamW(parameters, 0.1));
        KINDS.put("Lamb with means and means of squares", parameters -> new Lamb(parameters, 0.1));
        KINDS.put("Lars with velocity", parameters -> new Lars(parameters, 0.1));
    }

    @Test
    void everyOtherKindIsRefusedByItsNameAndNothingChanges() {
        KINDS.forEach((from, makeFrom) -> KINDS.forEach((to, makeTo) -> {
            byte[] foreign = stepped(makeFrom).saveState();
            Optimizer optimizer = stepped(makeTo);
            byte[] before = optimizer.saveState();
            if (from.equals(to)) {
                optimizer.loadState(foreign);
            } else {
                refused(optimizer, foreign, "\"" + from + "\"", "\"" + to + "\"");
            }
            assertThat(optimizer.saveState()).isEqualTo(before);
        }));
    }

    @Test
    void anotherKindIsRefusedWhereTheStateIsSharedOutToo() {
        Hvd.spawn(2, hvd -> {
            var parameters = twoParameters("w", "v");
            var sharded = ShardedOptimizer.ofArrays(hvd, parameters, share -> new Adam(share, 0.1));
            refused(
                    sharded,
                    stepped(KINDS.get("Adadelta with means of squares and means of squared steps"))
                            .saveState(),
                    "Adadelta",
                    "Adam with");
            sharded.loadState(stepped(share -> new Adam(share, 0.1)).saveState());
            return null;
        });
    }

    @Test
    void parametersInAnotherOrderOrOfOtherNamesOrShapesAreRefused() {
        byte[] state = new Adam(twoParameters("w", "v"), 0.1).saveState();
        Optimizer swapped = new Adam(
                new ArrayParameters().add("v", new float[1], new float[1]).add("w", new float[3], new float[3]), 0.1);
        refused(swapped, state, "\"w float32[3]\"", "\"v float32[1]\"");
        refused(new Adam(twoParameters("w", "u"), 0.1), state, "\"v float32[1]\"", "\"u float32[1]\"");
        Optimizer fewer = new Adam(new ArrayParameters().add("w", new float[3], new float[3]), 0.1);
        refused(fewer, state, "\"v float32[1]\"", "no more parameters");
        Optimizer reshaped = new Adam(
                new ArrayParameters()
                        .add("w", new float[3], new float[3], Shape.of(3, 1))
                        .add("v", new float[1], new float[1]),
                0.1);
        refused(reshaped, state, "\"w float32[3]\"", "\"w float32[3, 1]\"");
    }

    /** Before the words came, a state was its numbers. */
    @Test
    void anOlderStateOfTheSameKindIsTaken() {
        KINDS.values().forEach(make -> {
            Optimizer optimizer = stepped(make);
            Optimizer fresh = make.apply(twoParameters("w", "v"));
            fresh.loadState(numbers(optimizer.saveState()));
            assertThat(fresh.saveState()).isEqualTo(optimizer.saveState());
        });
    }

    @Test
    void anOlderStateThatCannotBeOfTheKindIsRefused() {
        byte[] velocity =
                numbers(stepped(KINDS.get("Sgd with Nesterov's velocity")).saveState());
        for (String kind : new String[] {"Adagrad with sums of squares", "RmsProp with means of squares"}) {
            Optimizer optimizer = stepped(KINDS.get(kind));
            byte[] before = optimizer.saveState();
            refused(optimizer, velocity, kind, "names no kind", "element 1 of its", "expected 0 or more");
            assertThat(optimizer.saveState()).isEqualTo(before);
        }
        refused(stepped(KINDS.get("Adam with means and means of squares")), velocity, "32 bytes", "needs 48");
        byte[] negative = velocity.clone();
        ByteBuffer.wrap(negative).putLong(-5);
        refused(stepped(KINDS.get("Sgd with velocity")), negative, "made -5 steps");
    }

    /** Where the state of some parameters was lost, they have made fewer steps than others. */
    @Test
    void parametersWhoseBuffersHaveBegunAnewKeepTheirNumberOfSteps() {
        Adam late = new Adam(twoParameters("w", "v"), 0.1);
        late.loadState(withTail(
                stepped(KINDS.get("Adam with means and means of squares")).saveState(), 0, 1));
        assertThat(late.saveState())
                .isEqualTo(withTail(
                        stepped(KINDS.get("Adam with means and means of squares"))
                                .saveState(),
                        0,
                        1));
        late.loadState(new Adam(twoParameters("w", "v"), 0.1).saveState());
        assertThat(late.saveState()).isEqualTo(new Adam(twoParameters("w", "v"), 0.1).saveState());
    }

    @Test
    void aParameterThatBeganAnewBehindTheLastStepOrBeforeTheFirstIsRefused() {
        byte[] state =
                stepped(KINDS.get("Adam with means and means of squares")).saveState();
        for (long tail : new long[] {-1, 1_000}) {
            refused(
                    new Adam(twoParameters("w", "v"), 0.1),
                    withTail(state, 0, tail),
                    "parameter number 1 began anew after step " + tail);
        }
        refused(new Adam(twoParameters("w", "v"), 0.1), Arrays.copyOf(state, state.length + 8), "its numbers have");
    }

    private static byte[] withTail(byte[] state, long... late) {
        ByteBuffer all = ByteBuffer.allocate(state.length + Long.BYTES * late.length);
        all.put(state).asLongBuffer().put(late);
        return all.array();
    }

    @Test
    void aDamagedStateIsRefusedAndNothingChanges() {
        KINDS.values().forEach(make -> {
            Optimizer optimizer = stepped(make);
            byte[] state = optimizer.saveState();
            for (int length = 0; length < state.length; length++) {
                refused(optimizer, Arrays.copyOf(state, length), "does not fit");
            }
            refused(optimizer, Arrays.copyOf(state, state.length + 4), "its numbers have");
            byte[] endless = state.clone();
            ByteBuffer.wrap(endless).putInt(Integer.BYTES, Integer.MAX_VALUE);
            refused(optimizer, endless, "claim 2147483647 bytes");
            assertThat(optimizer.saveState()).isEqualTo(state);
        });
    }

    private static Optimizer stepped(Function<ArrayParameters, Optimizer> make) {
        Optimizer optimizer = make.apply(twoParameters("w", "v"));
        optimizer.step();
        optimizer.step();
        return optimizer;
    }

    private static ArrayParameters twoParameters(String first, String second) {
        return new ArrayParameters()
                .add(first, new float[] {1, 2, 3}, new float[] {1, -3, 5})
                .add(second, new float[] {4}, new float[] {100});
    }

    private static byte[] numbers(byte[] state) {
        int words = ByteBuffer.wrap(state).getInt(Integer.BYTES);
        return Arrays.copyOfRange(state, WORDS_BEGIN + words, state.length);
    }

    private static void refused(Optimizer optimizer, byte[] state, String... facts) {
        assertThatThrownBy(() -> optimizer.loadState(state))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                .hasMessageContainingAll(facts);
    }
}
