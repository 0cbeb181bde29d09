package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.clear_cache;
import static org.bytedeco.pytorch.global.torch.decrement_nesting;
import static org.bytedeco.pytorch.global.torch.get_autocast_dtype;
import static org.bytedeco.pytorch.global.torch.increment_nesting;
import static org.bytedeco.pytorch.global.torch.is_autocast_available;
import static org.bytedeco.pytorch.global.torch.is_autocast_enabled;
import static org.bytedeco.pytorch.global.torch.set_autocast_dtype;
import static org.bytedeco.pytorch.global.torch.set_autocast_enabled;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.EnumSet;
import java.util.Set;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Has LibTorch compute in a 16-bit type what can be computed in it, such as products of matrices and convolutions, and
 * the rest in float32, as torch's {@code autocast}. It holds for the calling thread, until it is closed; scopes may
 * be nested. The parameters stay float32, and so do their gradients. Only the forward pass and the loss belong inside.
 *
 * <pre>{@code
 * try (var half = Autocast.to(ScalarType.BFloat16, DeviceType.CPU)) {
 *     loss = nll_loss(model.forward(images), labels);
 * }
 * }</pre>
 */
public final class Autocast implements AutoCloseable {
    private static final Set<ScalarType> TYPES = EnumSet.of(ScalarType.BFloat16, ScalarType.Half);

    private final DeviceType device;
    private final Thread thread = Thread.currentThread();
    private final boolean enabledBefore;
    private final ScalarType typeBefore;
    /** Which scope of this thread it is, counted from 1. */
    private final int depth;

    private boolean closed;

    private Autocast(DeviceType device, ScalarType type, boolean enabled) {
        this.device = device;
        this.enabledBefore = is_autocast_enabled(device);
        this.typeBefore = get_autocast_dtype(device).intern();
        set_autocast_enabled(device, enabled);
        set_autocast_dtype(device, type);
        this.depth = increment_nesting();
    }

    /**
     * Begins a scope.
     *
     * @param type BFloat16, whose range is float32's, or Half, which needs a scaled loss
     * @param device CPU or CUDA, wherever the tensors are
     * @throws HvdException for another type, or a device for which this LibTorch has no autocast
     */
    public static Autocast to(ScalarType type, DeviceType device) {
        if (!TYPES.contains(type.intern())) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "Autocast to " + type + ": expected one of the 16-bit types " + TYPES);
        }
        requireAvailable(device);
        return new Autocast(device, type, true);
    }

    /** Begins a scope, usually inside of another one, in which LibTorch computes in the tensors' own types. */
    public static Autocast off(DeviceType device) {
        requireAvailable(device);
        return new Autocast(device, get_autocast_dtype(device), false);
    }

    private static void requireAvailable(DeviceType device) {
        if (!is_autocast_available(device)) {
            throw new HvdException(ErrorId.UNSUPPORTED, "this LibTorch has no autocast for device " + device.intern());
        }
    }

    /**
     * Ends the scope. Ending the outermost one drops LibTorch's copies of the parameters in the 16-bit type, which the
     * step outdates.
     *
     * @throws HvdException on another thread than the one that began it, or before a scope inside of it has ended;
     *     then nothing is changed
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        requireInnermost();
        closed = true;
        if (decrement_nesting() == 0) {
            clear_cache();
        }
        set_autocast_enabled(device, enabledBefore);
        set_autocast_dtype(device, typeBefore);
    }

    private void requireInnermost() {
        if (Thread.currentThread() != thread) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "an Autocast that thread " + thread.getName() + " began is closed by thread "
                            + Thread.currentThread().getName() + "; it holds for its own thread only");
        }
        int open = increment_nesting() - 1;
        decrement_nesting();
        if (open != depth) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "Autocast scope " + depth + " is closed while scope " + open + " inside of it is still open;"
                            + " begin each of them in a try");
        }
    }
}
