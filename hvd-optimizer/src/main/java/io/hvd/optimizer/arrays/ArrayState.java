package io.hvd.optimizer.arrays;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.StateOwner;
import io.hvd.optimizer.StateSize;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Whose state the numbers of an optimizer on plain arrays are. Equal lengths say nothing: the velocity of SGD is as long as the squares
 * of Adagrad. So the state says it itself:
 *
 * <pre>
 * int     a mark, no possible beginning of an older state, which begins with its number of steps
 * int     length of the words
 * ...     the words of a {@link StateOwner}
 * long    number of steps
 * double  learning rate
 * float[] for each kind of buffer, those of all parameters
 * long[]  for each parameter, the steps before its buffers began anew; left out where all are 0
 * </pre>
 *
 * States of hvd before there were words are steps, learning rate and buffers alone.
 *
 * @param kind of the optimizer, as its class is called
 * @param buffers kinds of its buffers, in their order
 * @param elements of all parameters together
 */
public record ArrayState(String kind, List<ArrayBuffer> buffers, List<Parameter> parameters, long elements) {
    private static final HvdLogger LOG = HvdLogger.of(ArrayState.class);

    /** Number of steps and learning rate. */
    private static final int HEAD = Long.BYTES + Double.BYTES;

    /**
     * Of an optimizer over these parameters.
     *
     * @param kind as its class is called
     * @param buffers kinds of its buffers, in their order
     */
    public static ArrayState of(String kind, List<ArrayBuffer> buffers, List<Parameter> parameters) {
        long elements =
                parameters.stream().mapToLong(each -> each.value().elements()).sum();
        return new ArrayState(kind, buffers, parameters, elements);
    }

    /** The facts that are compared before the numbers are read. */
    private StateOwner owner() {
        String with = buffers.isEmpty()
                ? "without buffers"
                : buffers.stream().map(ArrayBuffer::words).collect(Collectors.joining(" and ", "with ", ""));
        return StateOwner.of(kind + " " + with, parameters);
    }

    /** The kind of optimizer and its buffers, in words. */
    String owners() {
        return owner().kind();
    }

    /**
     * The length of the numbers, which are what comes behind the words.
     *
     * @param tail whether some buffers have begun anew
     */
    public int numbersLength(boolean tail) {
        return StateSize.require(
                kind, HEAD + (long) Float.BYTES * buffers.size() * elements + (tail ? tailLength() : 0));
    }

    private int numbersLength() {
        return numbersLength(false);
    }

    /** The numbers with the words before them. */
    public byte[] headed(byte[] numbers) {
        return owner().head(StateOwner.Mark.ARRAYS, numbers);
    }

    /**
     * Takes the numbers out of a state.
     *
     * @throws HvdException if it is of another kind of optimizer, of other parameters or damaged
     */
    public byte[] numbers(byte[] state) {
        if (!StateOwner.Mark.ARRAYS.begins(state)) {
            StateOwner.Mark.ARRAYS.requireNoOther(state);
            requireNotAnotherKinds(state);
            return state;
        }
        byte[] numbers = owner().rest(StateOwner.Mark.ARRAYS, state);
        requireLength(numbers.length == numbersLength() + tailLength() ? numbersLength() : numbers.length);
        requireSteps(numbers);
        requireTail(numbers);
        return numbers;
    }

    private int tailLength() {
        return Long.BYTES * parameters.size();
    }

    private void requireTail(byte[] numbers) {
        ByteBuffer bytes = ByteBuffer.wrap(numbers);
        long steps = bytes.getLong();
        for (int at = numbersLength(); at < numbers.length; at += Long.BYTES) {
            long late = bytes.getLong(at);
            if (late < 0 || late > steps) {
                throw StateOwner.mismatch("the buffers of its parameter number " + (at - numbersLength()) / Long.BYTES
                        + " began anew after step " + late + ", and it has made " + steps);
            }
        }
    }

    private void requireLength(int found) {
        int expected = numbersLength();
        if (found != expected) {
            throw StateOwner.mismatch("its numbers have " + found + " bytes, " + kind + " over " + parameters.size()
                    + " parameters needs " + expected);
        }
    }

    private void requireSteps(byte[] numbers) {
        long steps = ByteBuffer.wrap(numbers).getLong();
        if (steps < 0) {
            throw StateOwner.mismatch("it has made " + steps + " steps, expected 0 or more");
        }
    }

    /**
     * An older state names nothing. Its length is compared, and what can be seen in the numbers: a mean of squares is never negative.
     * The rest is said in a warning.
     */
    private void requireNotAnotherKinds(byte[] state) {
        requireLength(state.length);
        requireSteps(state);
        for (int kind = 0; kind < buffers.size(); kind++) {
            if (buffers.get(kind).isNeverNegative()) {
                requireNotNegative(state, kind);
            }
        }
        if (!buffers.isEmpty()) {
            LOG.warn(
                    "the optimizer state was written by an hvd that did not name the kind of optimizer and its parameters: its"
                            + " {} bytes fit {}, and nothing else could be compared. States that are saved from now on name"
                            + " both",
                    state.length,
                    owner().kind());
        }
    }

    private void requireNotNegative(byte[] state, int kind) {
        ByteBuffer bytes = ByteBuffer.wrap(state);
        int begin = Math.toIntExact(HEAD + Float.BYTES * kind * elements);
        for (int i = 0; i < elements; i++) {
            float found = bytes.getFloat(begin + Float.BYTES * i);
            if (found < 0) {
                throw new HvdException(
                        ErrorId.STATE_MISMATCH,
                        "the optimizer state does not fit: it names no kind of optimizer, as older versions of hvd wrote"
                                + " it, and cannot be of " + owner().kind() + ": element " + i + " of its "
                                + buffers.get(kind).words() + " is " + found + ", expected 0 or more");
            }
        }
    }
}
