package io.hvd.transformers;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * BERT or DistilBERT without a head: each token gets a vector that depends on all tokens of its text. A text is one segment.
 *
 * <pre>{@code
 * PretrainedModel files = PretrainedModel.at(Path.of("all-MiniLM-L6-v2"));
 * Encoder encoder = files.encoder();
 * Tensor vectors = Sentences.meanOf(encoder.forward(ids, mask), mask);
 * }</pre>
 */
public final class Encoder extends Transformer {
    private final Names names;
    private final Tensor words;
    private final Tensor places;
    /** Null without segments. */
    private final Tensor segments;

    private final Norm norm;
    private final Dropout dropout;
    private final List<Block> blocks = new ArrayList<>();

    /** @param layer format of a layer's name; the others are names within it */
    private record Names(
            List<String> prefixes,
            String layer,
            String queries,
            String keys,
            String values,
            String attended,
            String attentionNorm,
            String wide,
            String narrow,
            String outputNorm) {
        static final Names BERT = new Names(
                List.of("bert."),
                "encoder.layer.%d",
                "attention.self.query",
                "attention.self.key",
                "attention.self.value",
                "attention.output.dense",
                "attention.output.LayerNorm",
                "intermediate.dense",
                "output.dense",
                "output.LayerNorm");
        static final Names DISTILBERT = new Names(
                List.of("distilbert."),
                "transformer.layer.%d",
                "attention.q_lin",
                "attention.k_lin",
                "attention.v_lin",
                "attention.out_lin",
                "sa_layer_norm",
                "ffn.lin1",
                "ffn.lin2",
                "output_layer_norm");
    }

    /**
     * Makes one whose weights are drawn.
     *
     * @param config of BERT or DistilBERT
     * @throws HvdException for another architecture
     */
    public Encoder(ModelConfig config, long seed) {
        super(config, seed);
        this.names = switch (config.architecture()) {
            case BERT -> Names.BERT;
            case DISTILBERT -> Names.DISTILBERT;
            case LLAMA ->
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "an Encoder of architecture LLAMA, expected BERT or DISTILBERT; a Decoder takes it");
        };
        this.words = drawn("embeddings.word_embeddings.weight", config.vocabulary(), config.hidden());
        this.places = drawn("embeddings.position_embeddings.weight", config.positions(), config.hidden());
        this.segments = config.tokenTypes() == 0
                ? null
                : drawn("embeddings.token_type_embeddings.weight", config.tokenTypes(), config.hidden());
        this.norm = new Norm("embeddings.LayerNorm");
        this.dropout = dropout(config.dropout());
        for (int layer = 0; layer < config.layers(); layer++) {
            blocks.add(new Block(layerName(layer) + "."));
        }
    }

    @Override
    public String layerName(int layer) {
        return String.format(Locale.ROOT, names.layer, layer);
    }

    @Override
    List<String> prefixes() {
        return names.prefixes;
    }

    @Override
    boolean isOfAHead(String name) {
        return name.matches("(pooler|cls|classifier|pre_classifier|qa_outputs|vocab_\\w+)\\..*|.*\\.position_ids");
    }

    @Override
    public Tensor forward(Tensor ids, Tensor mask) {
        long length = ids.size(1);
        if (length > config().positions()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "texts of " + length + " tokens, expected at most " + config().positions() + ", which this "
                            + config().architecture() + " has positions for");
        }
        Tensor x = torch.embedding(words, ids).add(places.narrow(0, 0, length));
        if (segments != null) {
            x = x.add(segments.select(0, 0));
        }
        x = dropout.apply(norm.apply(x));
        Tensor seen = mask.ne(new Scalar(0)).reshape(mask.size(0), 1, 1, length);
        for (int layer = 0; layer < blocks.size(); layer++) {
            Block block = blocks.get(layer);
            Tensor input = x;
            x = run(layer, () -> block.apply(input, seen));
        }
        return x;
    }

    /**
     * A vector of length 1 for each text, from the mean over its tokens, as sentence-transformers' MiniLM gives it.
     *
     * @param texts are brought to the device of the model's parameters
     * @return float32 (rows, hidden)
     */
    public Tensor sentences(TokenBatch texts) {
        Device device = words.device();
        Tensor mask = texts.mask(device);
        Tensor mean = Sentences.meanOf(forward(texts.ids(device), mask), mask);
        return Sentences.normalised(mean.to(ScalarType.Float));
    }

    private final class Norm {
        private final Tensor weight;
        private final Tensor bias;

        Norm(String name) {
            weight = constant(name + ".weight", 1, config().hidden());
            bias = constant(name + ".bias", 0, config().hidden());
        }

        Tensor apply(Tensor x) {
            return torch.layer_norm(
                    x,
                    new long[] {config().hidden()},
                    new TensorOptional(weight),
                    new TensorOptional(bias),
                    config().normEpsilon(),
                    false);
        }
    }

    /** Attention and two dense layers with a GELU between them; a norm follows each sum. */
    private final class Block {
        private final Projection queries;
        private final Projection keys;
        private final Projection values;
        private final Projection attended;
        private final Norm attentionNorm;
        private final Projection wide;
        private final Projection narrow;
        private final Norm outputNorm;

        Block(String prefix) {
            long hidden = config().hidden();
            queries = projection(prefix + names.queries, hidden, hidden, true);
            keys = projection(prefix + names.keys, hidden, hidden, true);
            values = projection(prefix + names.values, hidden, hidden, true);
            attended = projection(prefix + names.attended, hidden, hidden, true);
            attentionNorm = new Norm(prefix + names.attentionNorm);
            wide = projection(prefix + names.wide, hidden, config().intermediate(), true);
            narrow = projection(prefix + names.narrow, config().intermediate(), hidden, true);
            outputNorm = new Norm(prefix + names.outputNorm);
        }

        Tensor apply(Tensor x, Tensor seen) {
            int heads = config().heads();
            Tensor found = Attention.toAll(
                    Attention.split(queries.apply(x), heads),
                    Attention.split(keys.apply(x), heads),
                    Attention.split(values.apply(x), heads),
                    seen);
            Tensor y = attentionNorm.apply(x.add(dropout.apply(attended.apply(Attention.joined(found)))));
            Tensor inner = torch.gelu(wide.apply(y));
            return outputNorm.apply(y.add(dropout.apply(narrow.apply(inner))));
        }
    }
}
