package io.hvd.optimizer.torch.state;

import io.hvd.error.HvdException;
import io.hvd.optimizer.StateOwner;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.parameter.GroupOptions;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adagrad;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.RMSprop;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * Has LibTorch read the archive of an optimizer's state, after it has been looked at. LibTorch itself takes what it finds: a number that is
 * named twice, or a buffer of another shape, ends the process in a later step.
 */
public final class StateArchive {
    private static final String VERSION = "pytorch_version";
    private static final String STATE = "state";
    private static final String GROUPS = "param_groups";
    private static final String STEP = "step";

    private final Optimizer optimizer;
    /** A parameter's name, for messages. */
    private final Function<Tensor, String> names;

    public StateArchive(Optimizer optimizer, Function<Tensor, String> names) {
        this.optimizer = optimizer;
        this.names = names;
    }

    /**
     * @param mayRepeat whether the archive may name a parameter as often as modules share it
     * @throws HvdException if it is damaged or another optimizer's; then nothing is changed
     */
    void load(byte[] archive, boolean mayRepeat) {
        read(use -> TorchArchive.open(mayRepeat ? distinct(archive) : archive, use), opened -> {});
    }

    /** @param behind is given the archive when the optimizer has read it, with the very tensors that the optimizer has now */
    void loadThen(byte[] archive, Consumer<InputArchive> behind) {
        read(use -> TorchArchive.open(archive, use), behind);
    }

    private void read(Consumer<Consumer<InputArchive>> archive, Consumer<InputArchive> behind) {
        try {
            archive.accept(opened -> {
                require(opened);
                optimizer.load(opened);
                behind.accept(opened);
            });
        } catch (HvdException e) {
            throw e;
        } catch (RuntimeException e) {
            throw StateOwner.mismatch("its archive is damaged; LibTorch says: "
                    + String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
        }
    }

    /** The archive with each parameter once: older versions have written one that two modules share as often as the modules name it. */
    private static byte[] distinct(byte[] archive) {
        boolean[] repeats = {false};
        TorchArchive.open(archive, opened -> repeats[0] = NumberedArchive.repeats(opened));
        return repeats[0] ? TorchArchive.numbered(archive) : archive;
    }

    private void require(InputArchive archive) {
        try (PointerScope scope = new PointerScope()) {
            Entries root = new Entries("", archive);
            root.require(VERSION, IValue::isString, "a string");
            Map<String, Member> members = new LinkedHashMap<>();
            Entries groups = root.child(GROUPS);
            OptimizerParamGroupVector own = optimizer.param_groups();
            groups.requireCount(GROUPS + "/size", own.size(), "parameter groups");
            for (long i = 0; i < own.size(); i++) {
                Entries group = groups.child(GROUPS + "/" + i);
                addMembers(group, own.get(i).params(), group.child("options"), members);
            }
            Entries states = root.child(STATE);
            for (String number : states.values.keySet()) {
                Member member = members.get(number);
                if (member == null) {
                    throw StateOwner.mismatch("its archive has buffers of a parameter number \"" + number
                            + "\", and numbers " + members.keySet());
                }
                requireBuffers(states.child(number), member);
            }
            requireNothingToForget(members, states.values.keySet());
        }
    }

    /** Where the state has no buffers of a parameter, LibTorch would keep those of the optimizer. */
    private void requireNothingToForget(Map<String, Member> members, Set<String> found) {
        if (found.containsAll(members.keySet())) {
            return;
        }
        Set<String> kept = new HashSet<>();
        try (LargeArchive archive = LargeArchive.of(optimizer::save)) {
            archive.open(own -> {
                Map<String, String> numbers = NumberedArchive.numbers(own);
                new Entries("", own).child(STATE).values.keySet().forEach(key -> kept.add(numbers.get(key)));
            });
        }
        int number = 0;
        for (Map.Entry<String, Member> member : members.entrySet()) {
            number++;
            if (!found.contains(member.getKey()) && kept.contains(String.valueOf(number))) {
                throw StateOwner.mismatch("it has no buffers of \"" + member.getValue().name
                        + "\", and LibTorch cannot forget those that this optimizer has; make a new one");
            }
        }
    }

    /** @param options of its group, which the optimizer takes over */
    private record Member(String name, Tensor tensor, Entries options) {}

    private void addMembers(Entries group, TensorVector own, Entries options, Map<String, Member> members) {
        group.requireCount("params/size", own.size(), "parameters");
        for (long i = 0; i < own.size(); i++) {
            Tensor tensor = new Tensor(own.get(i));
            IValue number = group.require("params/" + i, IValue::isString, "a string");
            String text = number.toStringRef().getString();
            if (!text.matches("[0-9]{1,18}")) {
                throw StateOwner.mismatch("its archive numbers \"" + names.apply(tensor) + "\" by \"" + text
                        + "\", expected a whole number");
            }
            Member other = members.put(text, new Member(names.apply(tensor), tensor, options));
            if (other != null) {
                throw StateOwner.mismatch("its archive gives number " + text + " to \"" + other.name + "\" and to \""
                        + names.apply(tensor) + "\"");
            }
        }
    }

    private void requireBuffers(Entries buffers, Member member) {
        tensorsOf(member.options).forEach(buffer -> buffers.require(buffer, IValue::isTensor, "a tensor"));
        if (countsSteps()) {
            long step = buffers.require(STEP, IValue::isInt, "a whole number").toInt();
            if (step < 0) {
                throw StateOwner.mismatch(
                        "\"" + STEP + "\" of \"" + member.name + "\" is " + step + ", expected 0 or more");
            }
        }
        buffers.values.forEach((key, value) -> {
            if (value.isTensor()) {
                requireLike(key, value.toTensor(), member);
            } else if (!key.equals(STEP) && !value.isNone()) {
                throw StateOwner.mismatch("\"" + key + "\" of \"" + member.name + "\" is a "
                        + value.tagKind().getString() + ", expected a tensor");
            }
        });
    }

    private boolean countsSteps() {
        return optimizer instanceof Adam
                || optimizer instanceof AdamW
                || optimizer instanceof RMSprop
                || optimizer instanceof Adagrad;
    }

    private static void requireLike(String buffer, Tensor found, Member member) {
        String type = String.valueOf(TensorViews.typeOf(member.name, member.tensor));
        boolean isOfType = found.defined()
                && found.scalar_type().intern() == member.tensor.scalar_type().intern();
        String is = found.defined()
                ? (isOfType ? type : found.scalar_type().intern()) + "" + TensorViews.shape(found)
                : "undefined";
        String expected = type + TensorViews.shape(member.tensor);
        if (!is.equals(expected)) {
            throw StateOwner.mismatch(
                    "\"" + buffer + "\" of \"" + member.name + "\" is " + is + ", expected " + expected);
        }
    }

    /** The tensors without which a step by these options would fail. */
    private Set<String> tensorsOf(Entries options) {
        if (optimizer instanceof SGD) {
            return Set.of("momentum_buffer");
        }
        Set<String> tensors = new HashSet<>();
        if (optimizer instanceof Adam || optimizer instanceof AdamW) {
            tensors.addAll(Set.of("exp_avg", "exp_avg_sq"));
            if (options.isTrue("amsgrad")) {
                tensors.add("max_exp_avg_sq");
            }
        } else if (optimizer instanceof RMSprop) {
            tensors.add("square_avg");
            if (options.require("momentum", IValue::isDouble, "a number").toDouble() > 0) {
                tensors.add("momentum_buffer");
            }
            if (options.isTrue("centered")) {
                tensors.add("grad_avg");
            }
        } else if (optimizer instanceof Adagrad) {
            tensors.add("sum");
        }
        return tensors;
    }

    /** The number of buffers that each parameter has by the options of the first group. */
    int buffersByOptions() {
        Map<String, String> words = new GroupOptions(optimizer).words();
        boolean momentum = Double.parseDouble(words.getOrDefault("group.0.momentum", "0")) > 0;
        if (optimizer instanceof Adam || optimizer instanceof AdamW) {
            return Boolean.parseBoolean(words.get("group.0.amsgrad")) ? 3 : 2;
        }
        if (optimizer instanceof RMSprop) {
            return 1 + (momentum ? 1 : 0) + (Boolean.parseBoolean(words.get("group.0.centered")) ? 1 : 0);
        }
        return optimizer instanceof Adagrad || momentum ? 1 : 0;
    }

    /** The entries of an archive at one place. */
    private static final class Entries {
        private final String place;
        private final InputArchive archive;
        private final TreeMap<String, IValue> values = new TreeMap<>();

        Entries(String place, InputArchive archive) {
            this.place = place;
            this.archive = archive;
            for (String key : NumberedArchive.keys(archive)) {
                values.put(key, NumberedArchive.value(archive, key));
            }
        }

        Entries child(String key) {
            require(key, IValue::isModule, "a folder");
            return new Entries(place + key + "/", NumberedArchive.child(archive, key));
        }

        IValue require(String key, Function<IValue, Boolean> kind, String expected) {
            IValue value = values.get(key);
            if (value == null || !kind.apply(value)) {
                throw StateOwner.mismatch("its archive has "
                        + (value == null ? "no" : "a " + value.tagKind().getString()) + " \"" + place + key
                        + "\", expected " + expected);
            }
            return value;
        }

        void requireCount(String key, long expected, String what) {
            Tensor count = require(key, IValue::isTensor, "a tensor").toTensor();
            boolean isNumber = count.defined() && count.numel() == 1;
            if (!isNumber || count.item_long() != expected) {
                throw StateOwner.mismatch(
                        "its archive has " + (isNumber ? String.valueOf(count.item_long()) : "no number of") + " "
                                + what + " in \"" + place + "\", expected " + expected
                                + ". An hvd that took a parameter of two names for two has lost the state of some, if it wrote"
                                + " this state");
            }
        }

        boolean isTrue(String key) {
            return require(key, IValue::isBool, "true or false").toBool();
        }
    }
}
