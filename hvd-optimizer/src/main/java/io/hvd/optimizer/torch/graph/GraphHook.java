package io.hvd.optimizer.torch.graph;

import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;
import org.bytedeco.pytorch.global.torch;

/**
 * Puts another gradient in the place of a tensor's, as long as the graph that the tensor belongs to can run backward.
 *
 * <p>Native code holds hooks weakly, so {@link #LIVING} keeps them until their graph has gone. The witness tells when that
 * is: it is an empty leaf to which only the hook and the graph refer.
 */
public abstract class GraphHook extends TensorTensorHook {
    /** What native code may call: the graphs belong to the process, not to a context. */
    private static final List<GraphHook> LIVING = new ArrayList<>();
    /** What a hook returned last on this thread: LibTorch takes its own references after the hook has ended. */
    private static final ThreadLocal<Tensor> DELIVERED = new ThreadLocal<>();

    private final Tensor witness;

    /** @param witness of {@link #witnessOf}, to be made part of the graph */
    public GraphHook(Tensor witness) {
        this.witness = witness;
    }

    /** A new witness, of the type and on the device of this tensor. */
    protected static Tensor witnessOf(Tensor like) {
        Tensor witness = torch.zeros(new long[] {0}, like.options());
        witness.requires_grad_(true);
        return witness;
    }

    public final Tensor witness() {
        return witness;
    }

    /**
     * Computes the gradient that backward goes on with.
     *
     * @param gradient what backward has brought; null if it is undefined
     * @return a tensor of the same shape, with a reference of its own
     */
    protected abstract Tensor replaced(Tensor gradient);

    /** Gives back what the hook holds; its graph has gone. */
    protected void end() {}

    @Override
    public final TensorBase call(TensorBase gradient) {
        try (PointerScope scope = new PointerScope()) {
            return deliver(replaced(gradient.defined() ? new Tensor(gradient) : null));
        } catch (HvdException e) {
            throw HookFailures.remembered(e);
        } finally {
            gradient.close();
        }
    }

    private static Tensor deliver(Tensor gradient) {
        release();
        DELIVERED.set(gradient);
        return gradient;
    }

    private static void release() {
        Tensor taken = DELIVERED.get();
        if (taken != null) {
            DELIVERED.remove();
            taken.releaseReference();
        }
    }

    /** Keeps a hook for its graph; no scope of the caller's may take it away. */
    public static void keep(GraphHook hook) {
        release();
        hook.witness.retainReference();
        synchronized (LIVING) {
            LIVING.removeIf(GraphHook::outlivedItsGraph);
            LIVING.add(hook.retainReference());
        }
    }

    /** Number of graphs that can still be run backward. */
    public static int living() {
        synchronized (LIVING) {
            LIVING.removeIf(GraphHook::outlivedItsGraph);
            return LIVING.size();
        }
    }

    private boolean outlivedItsGraph() {
        if (witness.use_count() > 1) {
            return false;
        }
        witness.releaseReference();
        end();
        return true;
    }
}
