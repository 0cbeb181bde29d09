package io.hvd.spi;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Optional;

/**
 * The data plane of a process set, as an engine uses it. All calls are made on the communication thread, except those
 * that {@link #takesAnyThread} allows on others. Where a call names a device, {@code cuda:n} is each rank's own n-th
 * GPU, whatever its place among those that the rank sees.
 *
 * <p>A back end says in advance what it cannot do: the engine asks {@link #refuses} before every call. The answer
 * depends on nothing but what the ranks have agreed on, so it is the same on every rank and fails only the operation.
 * An exception from the call itself ends the job.
 */
public interface DataPlane extends Collectives, VetoableAllreduce {
    /** Why such an operation cannot be carried out; empty if it can. */
    Optional<String> refuses(OpKind kind, Device device, DType dtype, Reduction how);

    /** The answer of {@link #refuses} for a device that the back end cannot reach. */
    static Optional<String> outOfReach(Device device) {
        String place = device.index() == 0 ? device.kind().toString() : "GPU " + device.index() + " of a rank";
        return Optional.of("it reaches no tensors on " + place);
    }

    /** Allocates a tensor for an operation's output, on this rank's device of that kind. */
    Tensor output(Device device, DType dtype, Shape shape);

    /**
     * Allocates a tensor as {@link #output} does, and sets all its elements to one value.
     *
     * @param element a tensor of one element in the host's memory, which has the value and the type
     */
    Tensor filled(Device device, Tensor element, Shape shape);

    /** Whether the element that {@link #filled} gets is zero; memory can be set to zero by one fast call. */
    static boolean isZero(Tensor element) {
        return element.toFloatArray()[0] == 0;
    }

    /**
     * Takes part in an allreduce of the other ranks with elements that do not change its result. The results are
     * written over them.
     *
     * @param neutral tensors as the other ranks have them; they are not multiplied by {@code how.prescale()}
     * @param how the reduction with which the other ranks call {@link #allreduce}
     */
    void allreduceNeutral(List<Tensor> neutral, Reduction how);

    /** Whether {@link #allreduceUnlessVetoed} may be called on any thread, by one at a time, for tensors on such a device. */
    boolean takesAnyThread(Device device);

    /**
     * Says whether its allreduces have a choice of levels, and if not, why. The answer is the same on every rank.
     */
    Levels levels();

    /**
     * The choice of levels, or the reason why there is none.
     *
     * @param choice empty if there is none
     * @param whyNone words behind "because"; empty if there is a choice
     */
    record Levels(Optional<LevelChoice> choice, String whyNone) {
        public static Levels by(LevelChoice choice) {
            return new Levels(Optional.of(choice), "");
        }

        public static Levels none(String why) {
            return new Levels(Optional.empty(), why);
        }

        /** Why there is no choice; empty if there is one. */
        public Optional<String> obstacle() {
            return choice.isPresent() ? Optional.empty() : Optional.of(whyNone);
        }

        /** Chooses, where there is a choice: two levels or one. */
        public void choose(boolean two) {
            choice.orElseThrow(() -> new IllegalStateException("no choice of levels, because " + whyNone))
                    .useTwoLevels(two);
        }
    }

    /** The collectives of this set that return before they are done. */
    BegunCollectives begun();
}
