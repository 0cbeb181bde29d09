package io.hvd.transformers;

import static org.bytedeco.pytorch.global.torch.arange;
import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.Autocast;
import io.hvd.optimizer.torch.TorchCollectives;
import io.hvd.tensor.ReduceOp;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Vectors of whole texts, and losses of texts (N. Reimers and I. Gurevych, "Sentence-BERT", 2019). */
public final class Sentences {
    private static final int MEAN = 1;
    private static final long IGNORED = -100;
    private static final double LEAST_NORM = 1e-12;

    private Sentences() {}

    /**
     * The mean over a text's tokens; zeros for a text without any.
     *
     * @param vectors (batch, length, hidden)
     * @param mask int64 (batch, length), 0 for padding
     * @return (batch, hidden)
     */
    public static Tensor meanOf(Tensor vectors, Tensor mask) {
        Tensor weights = mask.unsqueeze(-1).to(vectors.scalar_type());
        Tensor sums = vectors.mul(weights).sum(new long[] {1}, false, new ScalarTypeOptional());
        Tensor tokens = weights.sum(new long[] {1}, false, new ScalarTypeOptional());
        return sums.div(tokens.clamp_min(new Scalar(1)));
    }

    /** Vectors of length 1. @param vectors (batch, hidden) */
    public static Tensor normalised(Tensor vectors) {
        Tensor norms = vectors.norm(new org.bytedeco.pytorch.ScalarOptional(new Scalar(2)), new long[] {-1}, true);
        return vectors.div(norms.clamp_min(new Scalar(LEAST_NORM)));
    }

    /**
     * The contrastive loss of pairs over all ranks: each first text has to find its second one among those of all ranks (A. van den Oord
     * et al., "Contrastive Predictive Coding", 2018). The mean of the ranks' losses is that of one rank that has all pairs, and so is the
     * average of their gradients. Similarities are computed in the vectors' own type, whatever {@link Autocast} is open.
     *
     * @param ranks that share their texts
     * @param name of the collective, the same on all ranks
     * @param first vectors of length 1 (batch, hidden); as many on every rank
     * @param second the vectors that belong to them, of the same shape
     * @param scale what similarities, which are from -1 to 1, are multiplied by; 20 is usual
     * @return the mean over this rank's pairs
     * @throws HvdException if the shapes differ, or the ranks' numbers of rows
     */
    public static Tensor contrastiveLoss(ProcessSet ranks, String name, Tensor first, Tensor second, double scale) {
        if (first.size(0) != second.size(0) || first.size(1) != second.size(1)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "the contrastive loss \"" + name + "\" of pairs of shapes (" + first.size(0) + ", " + first.size(1)
                            + ") and (" + second.size(0) + ", " + second.size(1) + "), expected equal ones");
        }
        Tensor all = new TorchCollectives(ranks).allgather(name, second, ReduceOp.SUM);
        if (all.size(0) != ranks.size() * first.size(0)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "the contrastive loss \"" + name + "\" of " + first.size(0) + " pairs on rank " + ranks.rank()
                            + " and " + all.size(0) + " on all " + ranks.size()
                            + " ranks, expected as many on every rank; a sampler that pads deals them so");
        }
        Tensor right = arange(new Scalar(first.size(0)))
                .to(first.device(), ScalarType.Long)
                .add(new Scalar(ranks.rank() * first.size(0)));
        try (Autocast own = Autocast.off(first.device().type())) {
            return cross_entropy_loss(first.matmul(all.t()).mul(new Scalar(scale)), right);
        }
    }

    /**
     * The loss of a language model: the mean over all tokens that follow another one.
     *
     * @param scores (batch, length, vocabulary) of the token that comes next
     * @param ids int64 (batch, length)
     * @param mask int64 of the same shape, 0 for padding
     */
    public static Tensor nextTokenLoss(Tensor scores, Tensor ids, Tensor mask) {
        long length = ids.size(1);
        if (length < 2) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "texts of " + length + " token, expected at least 2, so that one follows another");
        }
        Tensor next =
                ids.masked_fill(mask.eq(new Scalar(0)), new Scalar(IGNORED)).narrow(1, 1, length - 1);
        Tensor flat = scores.narrow(1, 0, length - 1).reshape(-1, scores.size(2));
        return cross_entropy_loss(flat, next.reshape(-1), new TensorOptional(), MEAN, IGNORED, 0);
    }
}
