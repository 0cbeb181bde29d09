package io.hvd.optimizer.torch.parameter;

import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.StateOwner;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.bytedeco.javacpp.BoolPointer;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adagrad;
import org.bytedeco.pytorch.AdagradOptions;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerOptions;
import org.bytedeco.pytorch.RMSprop;
import org.bytedeco.pytorch.RMSpropOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;

/**
 * The options of a LibTorch optimizer's parameter groups as words of its state, under torch's names: {@code group.0.lr}. What torch calls
 * {@code betas} is {@code beta1} and {@code beta2}.
 */
public final class GroupOptions {
    private static final String COUNT = "groups";

    private final Optimizer optimizer;

    public GroupOptions(Optimizer optimizer) {
        this.optimizer = optimizer;
    }

    private record Option(Supplier<String> get, Consumer<String> set) {}

    /** The options as they are now. */
    public SortedMap<String, String> words() {
        SortedMap<String, String> words = new TreeMap<>();
        try (PointerScope scope = new PointerScope()) {
            options().forEach((key, option) -> words.put(key, option.get.get()));
        }
        words.put(COUNT, Long.toString(optimizer.param_groups().size()));
        return words;
    }

    /**
     * Sets the options.
     *
     * @throws io.hvd.error.HvdException if the state is of another number of groups, or lacks one; then nothing is changed
     */
    public void set(NamedState state) {
        if (state.whole(COUNT) != optimizer.param_groups().size()) {
            throw StateOwner.mismatch("it has " + state.word(COUNT) + " parameter groups, expected "
                    + optimizer.param_groups().size());
        }
        try (PointerScope scope = new PointerScope()) {
            SortedMap<String, Option> options = options();
            options.keySet().forEach(state::word);
            options.forEach((key, option) -> option.set.accept(state.word(key)));
        } catch (NumberFormatException e) {
            throw StateOwner.mismatch("an option of its groups is no number: " + e.getMessage());
        }
    }

    private SortedMap<String, Option> options() {
        SortedMap<String, Option> all = new TreeMap<>();
        for (long i = 0; i < optimizer.param_groups().size(); i++) {
            String prefix = "group." + i + ".";
            OptimizerOptions options = optimizer.param_groups().get(i).options();
            all.put(
                    prefix + "lr",
                    new Option(
                            () -> Double.toString(options.get_lr()), word -> options.set_lr(Double.parseDouble(word))));
            own(options).forEach((name, option) -> all.put(prefix + name, option));
        }
        return all;
    }

    private SortedMap<String, Option> own(OptimizerOptions options) {
        SortedMap<String, Option> own = new TreeMap<>();
        if (optimizer instanceof SGD) {
            SGDOptions sgd = new SGDOptions(options);
            own.put("momentum", number(sgd.momentum(), 0));
            own.put("dampening", number(sgd.dampening(), 0));
            own.put("weight_decay", number(sgd.weight_decay(), 0));
            own.put("nesterov", flag(sgd.nesterov()));
        } else if (optimizer instanceof Adam) {
            AdamOptions adam = new AdamOptions(options);
            adam(own, adam.betas(), adam.eps(), adam.weight_decay(), adam.amsgrad());
        } else if (optimizer instanceof AdamW) {
            AdamWOptions adam = new AdamWOptions(options);
            adam(own, adam.betas(), adam.eps(), adam.weight_decay(), adam.amsgrad());
        } else if (optimizer instanceof RMSprop) {
            RMSpropOptions rms = new RMSpropOptions(options);
            own.put("alpha", number(rms.alpha(), 0));
            own.put("eps", number(rms.eps(), 0));
            own.put("weight_decay", number(rms.weight_decay(), 0));
            own.put("momentum", number(rms.momentum(), 0));
            own.put("centered", flag(rms.centered()));
        } else if (optimizer instanceof Adagrad) {
            AdagradOptions adagrad = new AdagradOptions(options);
            own.put("lr_decay", number(adagrad.lr_decay(), 0));
            own.put("eps", number(adagrad.eps(), 0));
            own.put("weight_decay", number(adagrad.weight_decay(), 0));
        }
        return own;
    }

    /** @param betas a {@code std::tuple}, which keeps its last element first */
    private static void adam(
            SortedMap<String, Option> own,
            DoublePointer betas,
            DoublePointer eps,
            DoublePointer weightDecay,
            BoolPointer amsgrad) {
        own.put("beta1", number(betas, 1));
        own.put("beta2", number(betas, 0));
        own.put("eps", number(eps, 0));
        own.put("weight_decay", number(weightDecay, 0));
        own.put("amsgrad", flag(amsgrad));
    }

    private static Option number(DoublePointer place, long index) {
        return new Option(() -> Double.toString(place.get(index)), word -> place.put(index, Double.parseDouble(word)));
    }

    private static Option flag(BoolPointer place) {
        return new Option(() -> Boolean.toString(place.get()), word -> place.put(Boolean.parseBoolean(word)));
    }
}
