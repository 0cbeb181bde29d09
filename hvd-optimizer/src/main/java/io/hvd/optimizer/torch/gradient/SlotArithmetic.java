package io.hvd.optimizer.torch.gradient;

import static org.bytedeco.pytorch.global.torch.linalg_vector_norm;
import static org.bytedeco.pytorch.global.torch.stack;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LongArrayRefOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** LibTorch's arithmetic on averaged gradients. Of each GPU it waits for the result once per call. */
final class SlotArithmetic {
    private static final double EUCLIDEAN = 2;

    private SlotArithmetic() {}

    /** @return index of the first slot that then contains an infinity or a NaN, or -1 */
    static int multiply(List<GradientSlot> slots, double factor) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Scalar by = new Scalar(factor);
            List<Tensor> extremes = new ArrayList<>();
            for (GradientSlot slot : slots) {
                addExtremes(slot.average().mul_(by), extremes);
            }
            return allFinite(extremes) ? -1 : firstOf(slots);
        }
    }

    /** @return index of the first slot that contains an infinity or a NaN, or -1 */
    static int firstNonFinite(List<GradientSlot> slots) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            List<Tensor> extremes = new ArrayList<>();
            slots.forEach(slot -> addExtremes(slot.average(), extremes));
            return allFinite(extremes) ? -1 : firstOf(slots);
        }
    }

    /** A NaN anywhere is both the least and the greatest element. */
    private static void addExtremes(Tensor gradient, List<Tensor> extremes) {
        if (gradient.numel() > 0) {
            T_TensorTensor_T both = gradient.aminmax();
            extremes.add(both.get0().to(ScalarType.Double));
            extremes.add(both.get1().to(ScalarType.Double));
        }
    }

    private static boolean allFinite(List<Tensor> extremes) {
        for (TensorVector each : perDevice(extremes)) {
            if (!stack(each).isfinite().all().item_bool()) {
                return false;
            }
        }
        return true;
    }

    private static int firstOf(List<GradientSlot> slots) {
        for (int i = 0; i < slots.size(); i++) {
            if (!slots.get(i).average().isfinite().all().item_bool()) {
                return i;
            }
        }
        throw new IllegalStateException("the extremes of the gradients are not finite, but all elements are");
    }

    static void clamp(List<GradientSlot> slots, double limit) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            ScalarOptional least = new ScalarOptional(new Scalar(-limit));
            ScalarOptional most = new ScalarOptional(new Scalar(limit));
            for (GradientSlot slot : slots) {
                slot.average().clamp_(least, most);
            }
        }
    }

    static double norm(List<GradientSlot> slots) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Scalar order = new Scalar(EUCLIDEAN);
            List<Tensor> norms = new ArrayList<>();
            for (GradientSlot slot : slots) {
                norms.add(linalg_vector_norm(
                        slot.average(),
                        order,
                        new LongArrayRefOptional(),
                        false,
                        new ScalarTypeOptional(ScalarType.Double)));
            }
            double norm = 0;
            for (TensorVector each : perDevice(norms)) {
                norm = Math.hypot(norm, linalg_vector_norm(stack(each)).item_double());
            }
            return norm;
        }
    }

    /** Scalars in one vector per device, because LibTorch stacks none of several devices. */
    static Collection<TensorVector> perDevice(List<Tensor> scalars) {
        Map<String, TensorVector> devices = new LinkedHashMap<>();
        for (Tensor scalar : scalars) {
            devices.computeIfAbsent(scalar.device().str().getString(), device -> new TensorVector())
                    .push_back(scalar);
        }
        return devices.values();
    }
}
