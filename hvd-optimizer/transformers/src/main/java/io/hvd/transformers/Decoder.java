package io.hvd.transformers;

import static org.bytedeco.pytorch.global.torch.arange;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A LLaMA-style language model: each token looks at those before it, with rotary positions (J. Su et al., "RoFormer", 2021), RMS norms
 * before the layers (B. Zhang and R. Sennrich, 2019), SwiGLU (N. Shazeer, "GLU Variants Improve Transformer", 2020) and grouped-query
 * attention (J. Ainslie et al., "GQA", 2023).
 */
public final class Decoder extends Transformer {
    private static final String LAYERS = "model.layers.";
    private static final String FINAL_NORM = "model.norm.weight";
    private static final String HEAD = "lm_head";

    private final Tensor words;
    private final Tensor finalNorm;
    /** Empty if the embedding of tokens does its work. */
    private final Optional<Projection> head;

    private final List<Block> blocks = new ArrayList<>();

    /**
     * Makes one whose weights are drawn.
     *
     * @param config of LLaMA
     * @throws HvdException for another architecture
     */
    public Decoder(ModelConfig config, long seed) {
        super(config, seed);
        if (config.architecture() != ModelConfig.Architecture.LLAMA) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "a Decoder of architecture " + config.architecture() + ", expected LLAMA; an Encoder takes it");
        }
        this.words = drawn("model.embed_tokens.weight", config.vocabulary(), config.hidden());
        for (int layer = 0; layer < config.layers(); layer++) {
            blocks.add(new Block(layerName(layer) + "."));
        }
        this.finalNorm = constant(FINAL_NORM, 1, config.hidden());
        this.head = config.isTied()
                ? Optional.empty()
                : Optional.of(projection(HEAD, config.hidden(), config.vocabulary(), false));
    }

    @Override
    public String layerName(int layer) {
        return LAYERS + layer;
    }

    @Override
    List<String> prefixes() {
        return List.of();
    }

    /** A tied head may be in the file beside the embedding. */
    @Override
    boolean isOfAHead(String name) {
        return name.endsWith(".rotary_emb.inv_freq") || name.equals(HEAD + ".weight");
    }

    @Override
    boolean isBehindLayers(String name) {
        return name.equals(FINAL_NORM) || name.startsWith(HEAD + ".");
    }

    /** {@inheritDoc} The mask is not looked at: padding is behind the tokens, none of which sees it. */
    @Override
    public Tensor forward(Tensor ids, Tensor mask) {
        Tensor x = torch.embedding(words, ids);
        Rotation rotation = Rotation.of(x, config());
        for (int layer = 0; layer < blocks.size(); layer++) {
            Block block = blocks.get(layer);
            Tensor input = x;
            x = run(layer, () -> block.apply(input, rotation));
        }
        return norm(x, finalNorm);
    }

    /**
     * Scores of the token that comes next.
     *
     * @param vectors what {@link #forward} gives
     * @return (batch, length, vocabulary)
     */
    public Tensor scores(Tensor vectors) {
        return head.map(own -> own.apply(vectors)).orElseGet(() -> torch.linear(vectors, words));
    }

    /** x / sqrt(mean(x<sup>2</sup>) + epsilon) * weight, the quotient in float32. */
    private Tensor norm(Tensor x, Tensor weight) {
        Tensor wide = x.scalar_type() == ScalarType.Double ? x : x.to(ScalarType.Float);
        Tensor mean = wide.mul(wide).mean(new long[] {-1}, true, new org.bytedeco.pytorch.ScalarTypeOptional());
        Tensor scaled = wide.mul(mean.add(new Scalar(config().normEpsilon())).rsqrt());
        return weight.mul(scaled.to(x.scalar_type()));
    }

    /** Cosines and sines of shape (length, head size), in the type of the model's numbers. */
    private record Rotation(Tensor cosines, Tensor sines) {
        static Rotation of(Tensor x, ModelConfig config) {
            int size = config.hidden() / config.heads();
            float[] frequencies = new float[size / 2];
            for (int i = 0; i < frequencies.length; i++) {
                frequencies[i] = (float) Math.pow(config.ropeTheta(), -2.0 * i / size);
            }
            Tensor places = arange(new Scalar(x.size(1))).to(ScalarType.Float);
            Tensor angles = torch.outer(places, Tensor.create(frequencies));
            Tensor both = torch.cat(new TensorVector(angles, angles), -1);
            return new Rotation(
                    both.cos().to(x.device(), x.scalar_type()), both.sin().to(x.device(), x.scalar_type()));
        }

        /** Turns pairs of a half each. @param x (batch, heads, length, size) */
        Tensor turn(Tensor x) {
            long half = x.size(-1) / 2;
            Tensor turned = torch.cat(new TensorVector(x.narrow(-1, half, half).neg(), x.narrow(-1, 0, half)), -1);
            return x.mul(cosines.to(x.scalar_type())).add(turned.mul(sines.to(x.scalar_type())));
        }
    }

    private final class Block {
        private final Tensor attentionNorm;
        private final Projection queries;
        private final Projection keys;
        private final Projection values;
        private final Projection attended;
        private final Tensor denseNorm;
        private final Projection gate;
        private final Projection up;
        private final Projection down;

        Block(String prefix) {
            long hidden = config().hidden();
            long keyed = hidden / config().heads() * config().keyValueHeads();
            attentionNorm = constant(prefix + "input_layernorm.weight", 1, hidden);
            queries = projection(prefix + "self_attn.q_proj", hidden, hidden, false);
            keys = projection(prefix + "self_attn.k_proj", hidden, keyed, false);
            values = projection(prefix + "self_attn.v_proj", hidden, keyed, false);
            attended = projection(prefix + "self_attn.o_proj", hidden, hidden, false);
            denseNorm = constant(prefix + "post_attention_layernorm.weight", 1, hidden);
            gate = projection(prefix + "mlp.gate_proj", hidden, config().intermediate(), false);
            up = projection(prefix + "mlp.up_proj", hidden, config().intermediate(), false);
            down = projection(prefix + "mlp.down_proj", config().intermediate(), hidden, false);
        }

        Tensor apply(Tensor x, Rotation rotation) {
            Tensor before = norm(x, attentionNorm);
            Tensor found = Attention.toEarlier(
                    rotation.turn(Attention.split(queries.apply(before), config().heads())),
                    forEachHead(rotation.turn(Attention.split(keys.apply(before), config().keyValueHeads()))),
                    forEachHead(Attention.split(values.apply(before), config().keyValueHeads())));
            Tensor y = x.add(attended.apply(Attention.joined(found)));
            Tensor inner = norm(y, denseNorm);
            return y.add(down.apply(torch.silu(gate.apply(inner)).mul(up.apply(inner))));
        }

        private Tensor forEachHead(Tensor x) {
            int group = config().heads() / config().keyValueHeads();
            return group == 1 ? x : x.repeat_interleave(group, new LongOptional(1), new LongOptional());
        }
    }
}
