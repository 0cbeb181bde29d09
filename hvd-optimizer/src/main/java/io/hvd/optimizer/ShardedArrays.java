package io.hvd.optimizer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/** The arrays of a model, each of which is stepped on one rank. */
final class ShardedArrays implements ShardedState {
    private final ArrayParameters all;
    private final Function<ArrayParameters, Optimizer> make;

    ShardedArrays(ArrayParameters all, Function<ArrayParameters, Optimizer> make) {
        this.all = all;
        this.make = make;
    }

    @Override
    public List<Parameter> parameters() {
        return all.list();
    }

    @Override
    public void zeroGradients() {
        for (int i = 0; i < all.count(); i++) {
            Arrays.fill(all.gradient(i), 0f);
        }
    }

    @Override
    public int[] owners(int ranks) {
        return ShardedOptimizer.owners(
                ranks,
                all.list().stream()
                        .mapToLong(parameter -> parameter.value().bytes())
                        .toArray());
    }

    @Override
    public ShardedShare deal(int[] owners, int rank) {
        ArrayParameters share = new ArrayParameters();
        for (int i = 0; i < owners.length; i++) {
            if (owners[i] == rank) {
                Parameter one = all.list().get(i);
                share.add(one.name(), all.value(i), all.gradient(i), one.value().shape());
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
        return new ArrayShare(all.list(), optimizer);
    }
}
