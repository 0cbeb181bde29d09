package io.hvd.optimizer.torch.gradient;

import io.hvd.ProcessSet;
import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.torch.graph.PlainCollectives;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.parameter.NamedParameters;
import io.hvd.optimizer.torch.parameter.NamedParameters.Named;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;

/**
 * The gradients of a LibTorch model: a {@link GradientSlot} for each trained parameter, and a hook that tells of it. Which optimizer steps
 * the parameters, or which share of them, is no matter here.
 */
public final class TorchGradients implements GradientSource, GradientArithmetic {
    /**
     * How sparse gradients travel.
     *
     * @param asRows names of the parameters whose gradients travel as rows
     * @param asDense whether those of other parameters travel as dense ones; otherwise they are refused
     */
    public record Sparse(Set<String> asRows, boolean asDense) {
        /** Those that may not travel at all. */
        public static final Sparse REFUSED = new Sparse(Set.of(), false);
    }

    private final List<GradientSlot> slots = new ArrayList<>();
    private final List<Parameter> parameters = new ArrayList<>();
    private final List<GradientHook.Receiver> receivers = new ArrayList<>();
    /** The streams of the GPUs that parameters are on. */
    private final Set<ExchangeStream> exchanges = new HashSet<>();

    private final Sparse sparse;
    /** Whether float32 copies of parameters are stepped in the place of these. */
    private final boolean hasCopies;
    /** Null on a rank that exchanges nothing. */
    private Listener listener;

    /** @param exchange the stream on which a parameter's gradients are averaged; null for one on the CPU */
    public TorchGradients(
            NamedParameters named,
            Sparse sparse,
            boolean hasCopies,
            Function<org.bytedeco.pytorch.Tensor, ExchangeStream> exchange) {
        this.sparse = sparse;
        this.hasCopies = hasCopies;
        named.all().forEach(one -> add(one, exchange.apply(one.value())));
    }

    private void add(Named one, ExchangeStream exchange) {
        GradientSlot slot =
                new GradientSlot(one.name(), one.value(), one.stepped(), exchange, sparse.asRows.contains(one.name()));
        slots.add(slot);
        slot.exchange().ifPresent(exchanges::add);
        parameters.add(new Parameter(one.name(), TensorViews.alias(one.name(), one.stepped()), slot.alias()));
    }

    /** The parameters, each with its slot. */
    public List<Parameter> parameters() {
        return parameters;
    }

    @Override
    public void listen(Listener newListener) {
        listener = newListener;
        for (int i = 0; i < slots.size(); i++) {
            var receiver = new GradientHook.Receiver(slots.get(i), i, listener, sparse.asDense());
            receivers.add(receiver);
            GradientHook.tell(receiver);
        }
    }

    @Override
    public void stage(int parameter) {
        stageAll(List.of(parameter));
    }

    @Override
    public void stageAll(List<Integer> staged) {
        stage(staged, false);
    }

    @Override
    public void stageKept(List<Integer> staged) {
        stage(staged, true);
    }

    private void stage(List<Integer> staged, boolean kept) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            for (int i = 0; i < staged.size(); i++) {
                int parameter = staged.get(i);
                double weight = listener == null ? 1 : listener.weight(parameter);
                if (kept) {
                    slots.get(parameter).stageKept(weight, sparse.asDense());
                } else {
                    slots.get(parameter).stage(weight);
                }
            }
        }
    }

    /**
     * On a GPU gradients travel while it computes. Where there are float32 copies, LibTorch would add up several passes in 16 bits.
     */
    @Override
    public boolean keepsUntilStaged() {
        return exchanges.isEmpty() && !hasCopies;
    }

    @Override
    public Set<String> sparse() {
        return sparse.asRows();
    }

    @Override
    public long exchangeSparse(ProcessSet set, String scope, double weight) {
        PlainCollectives ranks = new PlainCollectives(set);
        try (PointerScope pointers = new PointerScope()) {
            return slots.stream()
                    .filter(GradientSlot::isSparse)
                    .mapToLong(slot -> slot.gatherRows(ranks, scope + slot.name() + ".rows", weight))
                    .sum();
        }
    }

    @Override
    public void requireInPlace() {
        try (PointerScope scope = new PointerScope()) {
            slots.forEach(GradientSlot::requireInPlace);
        }
    }

    @Override
    public void multiplyAccumulated(double factor) {
        try (PointerScope scope = new PointerScope()) {
            slots.forEach(slot -> slot.multiplyAccumulated(factor));
        }
    }

    @Override
    public Optional<Tensor> ownGradient(int parameter) {
        return slots.get(parameter).ownGradient();
    }

    @Override
    public void adopt() {
        arrived();
        try (PointerScope scope = new PointerScope()) {
            slots.forEach(GradientSlot::becomeGradient);
        }
    }

    @Override
    public boolean hasNewGradient() {
        try (PointerScope scope = new PointerScope()) {
            return slots.stream().anyMatch(GradientSlot::hasNewGradient);
        }
    }

    @Override
    public boolean addsToLastStep() {
        return slots.stream().anyMatch(GradientSlot::addsToLastStep);
    }

    @Override
    public int multiplyGradients(double factor) {
        return SlotArithmetic.multiply(slots, factor);
    }

    @Override
    public int firstNonFinite() {
        return SlotArithmetic.firstNonFinite(slots);
    }

    @Override
    public void clampGradients(double limit) {
        SlotArithmetic.clamp(slots, limit);
    }

    @Override
    public double gradientNorm() {
        return SlotArithmetic.norm(slots);
    }

    /** From here on no parameter has a gradient; what LibTorch adds to next is new. */
    public void forget() {
        slots.forEach(GradientSlot::forget);
    }

    /** As {@link #forget} where float32 copies are stepped: LibTorch's optimizer clears the gradients of what it steps itself. */
    public void forgetBesideCopies() {
        if (hasCopies) {
            forget();
        }
    }

    /** Gives float32 copies the gradients that nobody has averaged, before they are stepped. */
    public void bringToCopies() {
        if (hasCopies) {
            slots.forEach(GradientSlot::bringToMaster);
        }
    }

    /** Rounds float32 copies into the model. */
    @Override
    public void overwritten() {
        if (hasCopies) {
            slots.forEach(GradientSlot::writeBack);
        }
    }

    /** A slot must not be touched on LibTorch's stream while its average is still being written on the other. */
    @Override
    public void arrived() {
        exchanges.forEach(ExchangeStream::giveBack);
    }
}
