package io.hvd.optimizer.torch.module;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.parameter.DistinctParameters;
import io.hvd.tensor.Device;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SharedModuleVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * One device's module of a {@code DataParallel}.
 *
 * @param parts the module with all modules inside of it, the outer ones first
 * @param versions of the first replica's parameters when they were last copied, by name
 */
public record Replica<M extends Module>(
        int number,
        Device device,
        org.bytedeco.pytorch.Device place,
        M module,
        List<Module> parts,
        TreeMap<String, Tensor> parameters,
        TreeMap<String, Tensor> buffers,
        Map<String, Long> versions) {
    public static <M extends Module> Replica<M> of(int number, Device device, M module) {
        KeptModule.keep(Objects.requireNonNull(module, "the module that the factory has made"));
        org.bytedeco.pytorch.Device place = device.isCpu()
                ? new org.bytedeco.pytorch.Device(torch.DeviceType.CPU)
                : new org.bytedeco.pytorch.Device(torch.DeviceType.CUDA, (byte) device.index());
        place.retainReference();
        module.to(place, false);
        return new Replica<>(
                number,
                device,
                place,
                module,
                parts(module),
                kept(TensorViews.references(module.named_parameters())),
                kept(TensorViews.references(module.named_buffers())),
                new TreeMap<>());
    }

    private static List<Module> parts(Module module) {
        SharedModuleVector all = module.modules();
        List<Module> parts = new ArrayList<>();
        for (long i = 0; i < all.size(); i++) {
            Module part = all.get(i);
            part.retainReference();
            parts.add(part);
        }
        return parts;
    }

    /** What the module has under several names is copied once. No scope of the program's may take the tensors away. */
    private static TreeMap<String, Tensor> kept(TreeMap<String, Tensor> tensors) {
        Set<Long> known = new HashSet<>();
        tensors.values().removeIf(tensor -> !known.add(DistinctParameters.identity(tensor)));
        tensors.values().forEach(Tensor::retainReference);
        return tensors;
    }

    /** @throws HvdException if this module is another one's double, or differs from it in what must be copied */
    public void requireLike(Replica<M> first) {
        if (this != first && module.address() == first.module.address()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "DataParallel: the factory has given replica " + number + " the module of replica 0, expected a new"
                            + " one for each device");
        }
        requireLike("parameter", parameters, first.parameters);
        requireLike("buffer", buffers, first.buffers);
        if (parts.size() != first.parts.size()) {
            throw differs(parts.size() + " modules inside of it", first.parts.size() + " as replica 0 has");
        }
    }

    private void requireLike(String kind, Map<String, Tensor> mine, Map<String, Tensor> expected) {
        if (!mine.keySet().equals(expected.keySet())) {
            throw differs(kind + "s " + mine.keySet(), "those of replica 0, " + expected.keySet());
        }
        mine.forEach((name, tensor) -> {
            String found = words(tensor);
            String wanted = words(expected.get(name));
            if (!found.equals(wanted)) {
                throw differs(kind + " \"" + name + "\" with " + found, wanted + " as replica 0 has");
            }
        });
    }

    private HvdException differs(String found, String expected) {
        return new HvdException(
                ErrorId.BAD_ARGUMENT,
                "DataParallel: replica " + number + " on " + device + " has " + found + ", expected " + expected);
    }

    private static String words(Tensor tensor) {
        return "shape " + TensorViews.shape(tensor) + " and type " + TensorViews.typeOf("", tensor);
    }

    public long stateBytes() {
        return bytes(parameters) + bytes(buffers);
    }

    private static long bytes(Map<String, Tensor> tensors) {
        return tensors.values().stream().mapToLong(Tensor::nbytes).sum();
    }

    /** The tensor itself if it is on this device already. */
    public Tensor onDevice(Tensor tensor) {
        return tensor.device().equals(place) ? tensor : tensor.to(place, tensor.scalar_type());
    }

    /** Takes over the first replica's weights, buffers and modes; called on this device's thread. */
    public List<Tensor> follow(Replica<M> first) {
        if (this != first) {
            try (PointerScope scope = new PointerScope()) {
                parameters.forEach((name, mine) -> copyParameter(name, mine, first.parameters.get(name)));
                copyBuffers(first);
                copyModes(first);
            }
        }
        return List.of();
    }

    /**
     * Makes the tensor a copy in LibTorch's graph, so that its gradient goes back to the original. A copy that is still equal stays
     * as it is, since the graph of an earlier pass may need it; the version alone would not say so, because hvd and others
     * also write to a tensor's memory directly.
     */
    private void copyParameter(String name, Tensor mine, Tensor original) {
        requireSameType(name, mine, original);
        long version = original._version();
        boolean sameGraph = !GradMode.is_enabled() || mine.requires_grad() == original.requires_grad();
        if (Objects.equals(versions.get(name), version) && sameGraph && isEqual(mine, original)) {
            return;
        }
        mine.detach_();
        mine.copy_(original);
        versions.put(name, version);
    }

    private void requireSameType(String name, Tensor mine, Tensor original) {
        if (mine.scalar_type().intern() != original.scalar_type().intern()) {
            throw differs(
                    "parameter \"" + name + "\" with " + words(mine),
                    words(original) + " as replica 0 has now: convert all replicas() alike");
        }
    }

    private boolean isEqual(Tensor mine, Tensor original) {
        try (NoGradGuard guard = new NoGradGuard()) {
            return mine.equal(onDevice(original));
        }
    }

    private void copyBuffers(Replica<M> first) {
        try (NoGradGuard guard = new NoGradGuard()) {
            buffers.forEach((name, mine) -> mine.copy_(first.buffers.get(name)));
        }
    }

    /** The mode of a module is that of all inside of it, unless these have been told otherwise. */
    private void copyModes(Replica<M> first) {
        for (int i = 0; i < parts.size(); i++) {
            boolean training = first.parts.get(i).is_training();
            if (parts.get(i).is_training() != training) {
                parts.get(i).train(training);
            }
        }
    }

    /** Runs the program's forward on this device's thread; the outputs are the caller's to close. */
    public List<Tensor> forward(BiFunction<? super M, List<Tensor>, List<Tensor>> forward, List<Tensor> inputs) {
        try (PointerScope scope = new PointerScope()) {
            List<Tensor> outputs = new ArrayList<>();
            for (Tensor output : forward.apply(module, inputs)) {
                Tensor own = new Tensor(output);
                own.retainReference();
                outputs.add(own);
            }
            return outputs;
        }
    }
}
