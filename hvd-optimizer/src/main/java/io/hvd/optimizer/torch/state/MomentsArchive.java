package io.hvd.optimizer.torch.state;

import io.hvd.optimizer.StateOwner;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * The moments of a LibTorch optimizer of one parameter, by LibTorch's names, such as exp_avg. LibTorch shows them in its archive
 * only. The count of steps is there as a scalar of type int64.
 */
public final class MomentsArchive {
    private static final String STATE = "state";
    private static final String STEP = "step";

    private MomentsArchive() {}

    /** The moments, tensors of their own; none before the first step. */
    public static TreeMap<String, Tensor> read(Optimizer optimizer) {
        TreeMap<String, Tensor> moments = new TreeMap<>();
        try (PointerScope scope = new PointerScope();
                LargeArchive archive = LargeArchive.of(optimizer::save)) {
            archive.open(opened -> {
                InputArchive states = NumberedArchive.child(opened, STATE);
                for (String only : NumberedArchive.keys(states)) {
                    read(NumberedArchive.child(states, only), moments);
                }
            });
        }
        return moments;
    }

    private static void read(InputArchive state, Map<String, Tensor> moments) {
        for (String key : NumberedArchive.keys(state)) {
            IValue value = NumberedArchive.value(state, key);
            if (value.isTensor() && value.toTensor().defined()) {
                moments.put(key, new Tensor(value.toTensor()).retainReference());
            } else if (value.isInt()) {
                moments.put(
                        key,
                        torch.full(new long[0], new Scalar(value.toInt()), new TensorOptions(torch.ScalarType.Long))
                                .retainReference());
            }
        }
    }

    /**
     * Gives the optimizer moments; its options stay.
     *
     * @param parameter its name, for messages
     * @throws io.hvd.error.HvdException if they are not those of such an optimizer; nothing is changed then
     */
    public static void write(Optimizer optimizer, String parameter, Map<String, Tensor> moments) {
        try (PointerScope scope = new PointerScope();
                LargeArchive own = LargeArchive.of(optimizer::save);
                LargeArchive archive = LargeArchive.of(out -> own.open(template -> copy(template, moments, out)))) {
            new StateArchive(optimizer, tensor -> parameter).load(archive);
        }
    }

    private static void copy(InputArchive template, Map<String, Tensor> moments, OutputArchive out) {
        OutputArchive states = new OutputArchive(out.compilation_unit());
        if (!moments.isEmpty()) {
            OutputArchive state = new OutputArchive(out.compilation_unit());
            moments.forEach((name, tensor) -> {
                if (name.equals(STEP)) {
                    state.write(name, new IValue(tensor.item_long()));
                } else {
                    state.write(name, tensor);
                }
            });
            states.write(NumberedArchive.numbers(template).keySet().iterator().next(), state);
        }
        for (String key : NumberedArchive.keys(template)) {
            if (key.equals(STATE)) {
                out.write(STATE, states);
            } else {
                NumberedArchive.copy(template, key, out, key);
            }
        }
    }

    /** The whole archive. */
    public static byte[] save(Optimizer optimizer) {
        return TorchArchive.writeState(optimizer);
    }

    /** Takes over an archive of {@link #save}. @throws io.hvd.error.HvdException if it is damaged or does not fit */
    public static void load(Optimizer optimizer, String parameter, byte[] archive) {
        if (archive.length == 0) {
            throw StateOwner.mismatch("it has no archive of \"" + parameter + "\"");
        }
        new StateArchive(optimizer, tensor -> parameter).load(archive, false);
    }
}
