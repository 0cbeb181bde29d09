package io.hvd.transformers;

import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Cuts texts into tokens, as the {@code tokenizer.json} of a model says, by Hugging Face's own library. Any thread may use it. */
public final class TextTokenizer implements AutoCloseable {
    /** DJL's setting of which native library it takes; an environment variable of the same name has precedence. */
    static final String FLAVOR = "RUST_FLAVOR";

    private final HuggingFaceTokenizer inner;

    private TextTokenizer(HuggingFaceTokenizer inner) {
        this.inner = inner;
    }

    /** The jar has the library for the CPU alone. On a host with CUDA, DJL would download another one. */
    private static void takeLibraryOfTheJar() {
        if (System.getProperty(FLAVOR) == null) {
            System.setProperty(FLAVOR, "cpu");
        }
    }

    /**
     * Reads a tokenizer. What it says of padding and of the longest text does not count.
     *
     * @param json the text of {@code tokenizer.json}
     * @param longest the most tokens of a text, with those that the model adds; what is longer is cut off
     * @throws HvdException if the library does not take it
     */
    public static TextTokenizer of(String json, int longest) {
        Map<String, String> options = Map.of(
                "truncation",
                "true",
                "padding",
                "false",
                "maxLength",
                String.valueOf(longest),
                "addSpecialTokens",
                "true");
        takeLibraryOfTheJar();
        try {
            return new TextTokenizer(HuggingFaceTokenizer.newInstance(
                    new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8)), options));
        } catch (IOException | RuntimeException e) {
            throw new HvdException(ErrorId.BAD_CHECKPOINT, "this tokenizer.json cannot be used: " + e.getMessage(), e);
        }
    }

    /** The tokens of each text, with those that the model adds, such as [CLS] and [SEP]. */
    public List<long[]> encode(List<String> texts) {
        return Stream.of(inner.batchEncode(texts)).map(Encoding::getIds).toList();
    }

    /** The tokens of a text. */
    public long[] encode(String text) {
        return inner.encode(text).getIds();
    }

    /** The text of tokens, without those that the model has added. */
    public String decode(long... ids) {
        return inner.decode(ids, true);
    }

    /** Frees the library's memory. */
    @Override
    public void close() {
        inner.close();
    }
}
