package io.hvd.optimizer.torch;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.SharedStorage;
import io.hvd.optimizer.torch.memory.TensorViews;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.StringSharedModuleDict;
import org.bytedeco.pytorch.StringSharedModuleDictItemVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Float32 copies of the parameters of a model that keeps and computes them in 16 bits, as Apex's O2 does: the optimizer steps the
 * copies, so that steps smaller than 16 bits can show add up, and after each step the model gets them rounded.
 *
 * <pre>{@code
 * MasterWeights masters = MasterWeights.of(model, ScalarType.Half);
 * var optimizer = new TorchOptimizer(new SGD(masters.parameters(), options), masters);
 * }</pre>
 *
 * Batch norms stay in float32, weights and statistics. Inputs must have the model's type, and its output is best converted to float32 for the
 * loss. A {@link io.hvd.optimizer.DistributedOptimizer} averages the gradients in float32, unless it compresses them; with an
 * {@link io.hvd.optimizer.AmpOptimizer} around it the loss is scaled. Optimizers whose state is shared out have no master weights.
 */
public final class MasterWeights {
    private final Module model;
    private final ScalarType type;
    /** What the optimizer steps, by the address of the parameter that backward computes a gradient for. */
    private final Map<Long, Tensor> masters = new LinkedHashMap<>();

    private MasterWeights(Module model, ScalarType type) {
        this.model = model.retainReference();
        this.type = type;
    }

    /**
     * Converts a model in place and keeps its float32 values. It comes after the model's values have been loaded and it has been
     * moved to its device, and before optimizers are made of it. What is trained from then on are the copies: a model whose
     * parameters are overwritten later, and not through its optimizer, gets the copies back after the next step.
     *
     * @param type {@code Half} or {@code BFloat16}
     */
    public static MasterWeights of(Module model, ScalarType type) {
        if (type.value != ScalarType.Half.value && type.value != ScalarType.BFloat16.value) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "MasterWeights.of(model, " + type + "): expected a type of 16 bits, Half or BFloat16");
        }
        MasterWeights made = new MasterWeights(model, type);
        List<String> norms = batchNorms(model);
        try (NoGradGuard guard = new NoGradGuard()) {
            TreeMap<String, Tensor> parameters = TensorViews.references(model.named_parameters());
            requireSeparate(parameters);
            parameters.forEach((name, parameter) -> made.convert(parameter, isOf(norms, name)));
            TreeMap<String, Tensor> buffers = TensorViews.references(model.named_buffers());
            buffers.forEach((name, buffer) -> made.narrow(buffer, isOf(norms, name)));
        }
        return made;
    }

    /** Each parameter gets memory of its own type, by which two in the same memory would part. */
    private static void requireSeparate(TreeMap<String, Tensor> parameters) {
        List<String> names = List.copyOf(parameters.keySet());
        List<Tensor> tensors = List.copyOf(parameters.values());
        int[] firsts = SharedStorage.firsts(tensors);
        for (int i = 0; i < firsts.length; i++) {
            if (identity(tensors.get(i)) != identity(tensors.get(firsts[i]))) {
                throw new HvdException(
                        ErrorId.UNSUPPORTED,
                        "MasterWeights.of(model, ...): the parameters \"" + names.get(firsts[i]) + "\" and \""
                                + names.get(i)
                                + "\" are two that lie in the same memory, as after set_data(...), and would part when they are"
                                + " converted. Register one parameter under both names");
            }
        }
    }

    private static boolean isOf(List<String> modules, String member) {
        return modules.stream().anyMatch(member::startsWith);
    }

    /** What the names of their parameters begin with; LibTorch's layers and hvd's {@code SyncBatchNorm}. */
    private static List<String> batchNorms(Module model) {
        List<String> prefixes = new ArrayList<>();
        StringSharedModuleDict modules = model.named_modules();
        StringSharedModuleDictItemVector items = modules.items();
        for (long i = 0; i < items.size(); i++) {
            Module module = items.get(i).access();
            if (module.asBatchNorm1d() != null || module.asBatchNorm2d() != null || module.asBatchNorm3d() != null) {
                String path = items.get(i).key().getString();
                prefixes.add(path.isEmpty() ? "" : path + ".");
            }
        }
        Reference.reachabilityFence(modules); // which owns the items
        return prefixes;
    }

    /** A parameter of several modules is converted once. */
    private void convert(Tensor parameter, boolean stays) {
        long address = identity(parameter);
        if (masters.containsKey(address)) {
            return;
        }
        boolean keeps = stays || !parameter.is_floating_point();
        if (parameter.requires_grad()) {
            masters.put(address, keeps ? parameter.retainReference() : copyOf(parameter));
        }
        narrow(parameter, keeps);
    }

    private static Tensor copyOf(Tensor parameter) {
        Tensor master = parameter.detach().to(ScalarType.Float).clone();
        master.set_requires_grad(true);
        return master.retainReference(); // no scope of the program's may take it away
    }

    private void narrow(Tensor tensor, boolean stays) {
        if (!stays && tensor.is_floating_point()) {
            tensor.set_data(tensor.detach().to(type));
        }
    }

    /** What the LibTorch optimizer is to step, in the order of their names. */
    public TensorVector parameters() {
        TensorVector all = new TensorVector();
        masters.values().forEach(all::push_back);
        return all;
    }

    Module model() {
        return model;
    }

    /** What ranks compare of it. */
    Map<String, String> settings() {
        return Map.of("master weights of a model in", type.intern().toString());
    }

    /** The tensor that is stepped for a parameter: the parameter itself, where it has stayed in float32. */
    Tensor of(Tensor parameter) {
        long address = identity(parameter);
        Tensor master = masters.get(address);
        return master == null || identity(master) == address ? parameter : master;
    }

    private static long identity(Tensor tensor) {
        return tensor.unsafeGetTensorImpl().address();
    }
}
