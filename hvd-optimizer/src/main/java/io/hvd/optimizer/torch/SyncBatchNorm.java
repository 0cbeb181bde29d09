package io.hvd.optimizer.torch;

import io.hvd.ProcessSet;
import org.bytedeco.pytorch.Module;

/**
 * Batch norm over the batches of all ranks: in training every rank normalises by the mean and variance of all samples of the
 * step, so N ranks with a part of a batch each compute what one rank computes with all of it. The running statistics are the
 * same on all ranks. In evaluation, with one rank, and on a rank outside the process set, it is a plain batch norm.
 *
 * <p>{@link #convert} makes the batch norms of a model such layers; {@link SyncBatchNorm1d}, {@link SyncBatchNorm2d} and {@link
 * SyncBatchNorm3d} are made by hand. Forward waits for the other ranks in one allreduce of a few numbers per feature, and
 * backward in another, so all ranks run both through the same layers, with batches of whatever size; a batch may be empty. The
 * gradient is that of the sum of the ranks' losses, of which {@code DistributedOptimizer} makes the mean. It has no second
 * order ({@code create_graph}).
 *
 * <p>(Horovod 0.28.1 and torch have the same for GPUs only.)
 */
public final class SyncBatchNorm {
    private SyncBatchNorm() {}

    /**
     * Replaces the batch norms of a model: those in fields of its Java classes, also inside other modules, lists and
     * arrays, and those inside {@code SequentialImpl}s. What LibTorch sees stays as it is: names, parameters, running statistics,
     * so an optimizer may have been made before. Afterwards LibTorch's own forward of a converted layer fails, since it knows
     * of one rank only.
     *
     * <p>A batch norm inside a {@code SequentialImpl} must be kept in a field or list of the program too, with hvd and without:
     * JavaCPP frees its native layer together with the Java object that made it, and the next forward crashes the JVM.
     *
     * @param set all ranks ({@code HvdContext}), and after a shutdown those of the next context, or some
     * @return the model itself, or what takes its place in Java if it is a {@code SequentialImpl}
     * @throws io.hvd.error.HvdException if a batch norm is registered in the model, but found in no field; it is named, and nothing
     *     has been changed
     */
    public static <M extends Module> M convert(M model, ProcessSet set) {
        return new BatchNormConversion(set).of(model);
    }
}
