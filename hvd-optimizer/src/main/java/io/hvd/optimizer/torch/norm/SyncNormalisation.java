package io.hvd.optimizer.torch.norm;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.graph.GraphHook;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The common part of the layers for 1, 2 and 3 dimensions: the normalisation by the batches of all ranks, and the running
 * statistics. LibTorch's own operations do the work on the elements; only sums per channel travel.
 */
public final class SyncNormalisation {
    /** The ranks of the generation under way, if it is all of them. */
    private ProcessSet set;

    private final String name;
    private final NormLayer layer;
    /** Undefined tensors if the layer tracks none. */
    private final Tensor runningMean;

    private final Tensor runningVariance;
    private final int[] dimensions;

    /** @param dimensions numbers of dimensions that an input may have */
    public SyncNormalisation(
            ProcessSet set,
            String name,
            NormLayer layer,
            Tensor runningMean,
            Tensor runningVariance,
            int... dimensions) {
        this.set = Objects.requireNonNull(set, "process set");
        this.name = Objects.requireNonNull(name, "name");
        this.layer = layer;
        this.runningMean = new Tensor(runningMean).retainReference();
        this.runningVariance = new Tensor(runningVariance).retainReference();
        this.dimensions = dimensions;
    }

    /**
     * Takes the running mean's place in the native layer, which then fails in a forward of LibTorch's own, as inside a native
     * container: that would normalise by this rank's batch alone, and nothing would show it.
     */
    public static Tensor unusable() {
        return torch.empty(0);
    }

    public Tensor runningMean() {
        return runningMean;
    }

    public Tensor forward(Tensor input) {
        requireUsable(input);
        if (set instanceof HvdContext over && !over.isOpen()) {
            set = Hvd.context(); // that of the next generation
        }
        if (!layer.is_training() || !set.included() || set.size() == 1) {
            return plain(input);
        }
        BatchMoments moments;
        try (NoGradGuard guard = new NoGradGuard()) {
            moments = BatchMoments.over(set, tensorName("moments"), input, statisticsType(input));
            requireSeveral((long) moments.count(), "the ranks " + set.ranks() + " have", " together");
            track(moments);
        }
        return normalised(input, moments);
    }

    /** Statistics of half-precision input have the type of the weights, or else single precision. */
    private ScalarType statisticsType(Tensor input) {
        if (layer.weight().defined()) {
            return layer.weight().scalar_type();
        }
        ScalarType type = input.scalar_type().intern();
        return BatchMoments.isHalf(type) ? ScalarType.Float : type;
    }

    /**
     * LibTorch normalises by the given statistics as if these were constants. What is missing in the gradient, their dependence
     * on the input, is added by the hook to the gradient of the view, which only this normalisation uses.
     */
    private Tensor normalised(Tensor input, BatchMoments moments) {
        Tensor weight = layer.weight();
        if (!GradMode.is_enabled() || !input.requires_grad()) {
            return moments.normalise(input, optional(weight), optional(layer.bias()), epsilon());
        }
        Tensor view = input.view_as(input);
        var hook = new MomentsHook(set, tensorName("gradient"), input.detach(), moments, epsilon());
        // Made before the hook is kept: a witness that nothing refers to says that the graph has gone.
        Tensor nothing = hook.witness().sum();
        GraphHook.keep(hook);
        view.register_hook(hook);
        Tensor base = weight.defined()
                ? weight
                : torch.ones(new long[] {input.size(1)}, moments.mean().options());
        Tensor tied = base.add(nothing.to(base.scalar_type()));
        return moments.normalise(view, optional(tied), optional(layer.bias()), epsilon());
    }

    /** A plain batch norm: by the running statistics, or by this rank's batch. */
    private Tensor plain(Tensor input) {
        boolean tracks = runningMean.defined();
        boolean training = layer.is_training();
        if (training || !tracks) {
            requireSeveral(input.numel() / input.size(1), "this rank, which normalises by its own batch, has", "");
        }
        double momentum = training && tracks ? nextMomentum() : 0;
        return torch.batch_norm(
                input,
                optional(layer.weight()),
                optional(layer.bias()),
                optional(runningMean),
                optional(runningVariance),
                training || !tracks,
                momentum,
                epsilon(),
                true);
    }

    private void track(BatchMoments moments) {
        if (!runningMean.defined()) {
            return;
        }
        double share = nextMomentum();
        double unbias = moments.count() / (moments.count() - 1);
        moveTowards(runningMean, moments.mean(), share, 1);
        moveTowards(runningVariance, moments.variance(), share, unbias);
    }

    private static void moveTowards(Tensor running, Tensor found, double share, double factor) {
        running.mul_(new Scalar(1 - share)).add_(found.to(running.scalar_type()), new Scalar(share * factor));
    }

    /** Counts the batch; without a momentum, the running statistics are the mean over all batches. */
    private double nextMomentum() {
        try (NoGradGuard guard = new NoGradGuard()) {
            layer.num_batches_tracked().add_(new Scalar(1));
        }
        BatchNormOptions options = layer.options();
        return options.momentum().has_value()
                ? options.momentum().get()
                : 1.0 / layer.num_batches_tracked().item_long();
    }

    private double epsilon() {
        return layer.options().eps().get();
    }

    private String tensorName(String what) {
        return "sync_batch_norm." + name + "." + what;
    }

    /** A single value has no variance, and a NaN would stay in the running one for ever. */
    private void requireSeveral(long values, String who, String together) {
        if (values < 2) {
            throw bad(who + " " + values + " value(s) per feature" + together + ", and training needs 2 or more");
        }
    }

    private void requireUsable(Tensor input) {
        long[] sizes = input.sizes().vec().get();
        if (IntStream.of(dimensions).noneMatch(allowed -> allowed == sizes.length)) {
            throw bad("its input has shape " + Arrays.toString(sizes) + ", expected one of "
                    + Arrays.toString(dimensions) + " dimensions, samples first and features second");
        }
        long features = layer.options().num_features().get();
        if (sizes[1] != features) {
            throw bad("its input has shape " + Arrays.toString(sizes) + " and so " + sizes[1] + " features, expected "
                    + features);
        }
        if (!input.is_floating_point()) {
            throw bad("its input has type " + input.scalar_type().intern() + ", expected a floating-point type");
        }
    }

    private HvdException bad(String what) {
        return new HvdException(
                ErrorId.BAD_ARGUMENT, "SyncBatchNorm \"" + name + "\" on rank " + set.rank() + ": " + what);
    }

    private static TensorOptional optional(Tensor tensor) {
        return tensor.defined() ? new TensorOptional(tensor) : new TensorOptional();
    }
}
