package io.hvd.optimizer;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.arrays.ArrayState;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/**
 * One rank's share of an optimizer on plain arrays. The numbers of an {@link ArrayState} are a head, and then for each kind of buffer the
 * buffers of all parameters, so the whole is put together from pieces of the shares, and taken apart in the same way.
 */
final class ShardedArrays implements ShardedState {
    private final ArrayParameters all;
    private final int[] owners;
    private final int rank;
    private final ArrayOptimizer own;

    ShardedArrays(ProcessSet set, ArrayParameters all, Function<ArrayParameters, Optimizer> make) {
        this.all = all;
        this.rank = set.included() ? set.rank() : 0;
        this.owners = ShardedOptimizer.owners(
                set,
                all.list().stream()
                        .mapToLong(parameter -> parameter.value().bytes())
                        .toArray());
        ArrayParameters share = new ArrayParameters();
        for (int i = 0; i < owners.length; i++) {
            if (owners[i] == rank) {
                share.add(all.list().get(i).name(), all.value(i), all.gradient(i));
            }
        }
        Optimizer made = make.apply(share);
        if (!(made instanceof ArrayOptimizer optimizer)
                || optimizer.parameters().size() != share.count()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "ShardedOptimizer.ofArrays expects an Sgd, Adam, AdamW, RmsProp, Adagrad, Adadelta, Lars or Lamb over the "
                            + share.count()
                            + " parameters that the function was given, found " + made
                            + (made == null ? "" : " over " + made.parameters().size()));
        }
        this.own = optimizer;
    }

    @Override
    public List<Parameter> parameters() {
        return all.list();
    }

    @Override
    public int[] owners() {
        return owners;
    }

    @Override
    public void step() {
        own.step();
    }

    @Override
    public void zeroGradients() {
        for (int i = 0; i < all.count(); i++) {
            Arrays.fill(all.gradient(i), 0f);
        }
    }

    @Override
    public double learningRate() {
        return own.learningRate();
    }

    @Override
    public void learningRate(double rate) {
        own.learningRate(rate);
    }

    @Override
    public Map<String, String> settings() {
        return own.settings();
    }

    @Override
    public long stateBytes() {
        return own.buffers().stream().mapToLong(buffer -> 4L * buffer.length).sum();
    }

    @Override
    public byte[] saveShare() {
        return own.numbers();
    }

    @Override
    public byte[] saveState() {
        throw new UnsupportedOperationException("a share has no whole state");
    }

    /** Takes its share from the whole. */
    @Override
    public void loadState(byte[] whole) {
        byte[] numbers = state().numbers(whole);
        byte[] share = new byte[own.numbers().length];
        System.arraycopy(numbers, 0, share, 0, ArrayState.HEAD);
        move(rank, share, numbers, false);
        own.numbers(share);
    }

    @Override
    public byte[] join(List<byte[]> shares) {
        byte[] head = shares.stream().filter(Objects::nonNull).findFirst().orElseThrow();
        byte[] whole = new byte[state().numbersLength()];
        System.arraycopy(head, 0, whole, 0, ArrayState.HEAD);
        for (int owner = 0; owner < shares.size(); owner++) {
            if (shares.get(owner) != null) {
                move(owner, shares.get(owner), whole, true);
            }
        }
        return state().headed(whole);
    }

    /** That of the optimizer over all parameters. */
    private ArrayState state() {
        return own.stateOver(all.list());
    }

    private void move(int owner, byte[] share, byte[] whole, boolean intoWhole) {
        int inShare = ArrayState.HEAD;
        int inWhole = ArrayState.HEAD;
        for (int kind = 0; kind < own.kinds().size(); kind++) {
            for (int i = 0; i < owners.length; i++) {
                int bytes = 4 * all.value(i).length;
                if (owners[i] == owner) {
                    if (intoWhole) {
                        System.arraycopy(share, inShare, whole, inWhole, bytes);
                    } else {
                        System.arraycopy(whole, inWhole, share, inShare, bytes);
                    }
                    inShare += bytes;
                }
                inWhole += bytes;
            }
        }
    }
}
