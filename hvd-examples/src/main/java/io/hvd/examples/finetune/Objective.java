package io.hvd.examples.finetune;

import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;

import io.hvd.HvdContext;
import io.hvd.optimizer.torch.Autocast;
import io.hvd.transformers.Decoder;
import io.hvd.transformers.Encoder;
import io.hvd.transformers.Sentences;
import io.hvd.transformers.TokenBatch;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** What a task makes of the transformer's output. */
interface Objective {
    /** The mean loss over a batch. */
    Tensor loss(TokenTexts.Batch batch);

    /** A batch of the test. */
    Score score(TokenTexts.Batch batch);

    /** How many equal parts a batch's mean loss has: texts, or tokens. */
    long parts(TokenTexts.Batch batch);

    /** @param lossSum of {@code parts} losses @param right how many of the parts were right */
    record Score(double lossSum, double right, long parts) {}

    /** A dense layer on the mean of a text's vectors gives scores of the categories. */
    record Classification(Encoder encoder, LinearImpl head, Device device) implements Objective {
        private Tensor scores(TokenTexts.Batch batch) {
            return head.forward(mean(encoder, batch.first(), device)).to(ScalarType.Float);
        }

        private Tensor labels(TokenTexts.Batch batch) {
            return Tensor.create(batch.labels()).to(device, ScalarType.Long);
        }

        @Override
        public Tensor loss(TokenTexts.Batch batch) {
            return cross_entropy_loss(scores(batch), labels(batch));
        }

        @Override
        public Score score(TokenTexts.Batch batch) {
            Tensor scores = scores(batch);
            Tensor labels = labels(batch);
            return new Score(
                    cross_entropy_loss(scores, labels).item_double() * batch.size(),
                    hits(scores, labels),
                    batch.size());
        }

        @Override
        public long parts(TokenTexts.Batch batch) {
            return batch.size();
        }
    }

    /** The contrastive loss over all ranks; in the test, among the texts of one block. */
    record Pairs(Encoder encoder, HvdContext hvd, Device device) implements Objective {
        private static final double SCALE = 20;

        @Override
        public Tensor loss(TokenTexts.Batch batch) {
            return Sentences.contrastiveLoss(
                    hvd, "finetune.pairs", encoder.sentences(batch.first()), encoder.sentences(batch.second()), SCALE);
        }

        @Override
        public Score score(TokenTexts.Batch batch) {
            Tensor first = encoder.sentences(batch.first());
            Tensor second = encoder.sentences(batch.second());
            Tensor right = torch.arange(new Scalar(batch.size())).to(device, ScalarType.Long);
            try (Autocast own = Autocast.off(device.type())) { // in 16 bits, similarities would be equal
                Tensor scores = first.matmul(second.t()).mul(new Scalar(SCALE));
                return new Score(
                        cross_entropy_loss(scores, right).item_double() * batch.size(),
                        hits(scores, right),
                        batch.size());
            }
        }

        @Override
        public long parts(TokenTexts.Batch batch) {
            return batch.size();
        }
    }

    /** The next token's loss. */
    record LanguageModel(Decoder decoder, Device device) implements Objective {
        private Tensor scores(Tensor ids, Tensor mask) {
            return decoder.scores(decoder.forward(ids, mask)).to(ScalarType.Float);
        }

        @Override
        public Tensor loss(TokenTexts.Batch batch) {
            Tensor ids = batch.first().ids(device);
            Tensor mask = batch.first().mask(device);
            return Sentences.nextTokenLoss(scores(ids, mask), ids, mask);
        }

        @Override
        public Score score(TokenTexts.Batch batch) {
            Tensor ids = batch.first().ids(device);
            Tensor mask = batch.first().mask(device);
            Tensor scores = scores(ids, mask);
            long length = ids.size(1);
            Tensor guesses = scores.narrow(1, 0, length - 1).argmax(new LongOptional(2), false);
            Tensor right = guesses.eq(ids.narrow(1, 1, length - 1)).mul(mask.narrow(1, 1, length - 1));
            return new Score(
                    Sentences.nextTokenLoss(scores, ids, mask).item_double() * parts(batch),
                    right.sum().item_long(),
                    parts(batch));
        }

        @Override
        public long parts(TokenTexts.Batch batch) {
            return batch.first().tokens() - batch.size();
        }
    }

    private static Tensor mean(Encoder encoder, TokenBatch texts, Device device) {
        Tensor mask = texts.mask(device);
        return Sentences.meanOf(encoder.forward(texts.ids(device), mask), mask);
    }

    private static long hits(Tensor scores, Tensor labels) {
        return scores.argmax(new LongOptional(1), false).eq(labels).sum().item_long();
    }
}
