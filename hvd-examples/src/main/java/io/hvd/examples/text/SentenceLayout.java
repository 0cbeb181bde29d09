package io.hvd.examples.text;

import io.hvd.data.cuda.BatchLayout;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.util.List;

/** The tensors of a batch: the numbers of the words, and the sentences' labels. @param words of a sentence */
record SentenceLayout(int words) implements BatchLayout<Corpus.Sample> {
    static final int WORDS = 0;
    static final int LABELS = 1;

    @Override
    public List<Field> fields() {
        return List.of(
                new Field("words", DType.INT64, Shape.of(words)), new Field("labels", DType.INT64, Shape.scalar()));
    }

    @Override
    public void write(Corpus.Sample sample, List<ByteBuffer> to) {
        for (int word : sample.words()) {
            to.get(WORDS).putLong(word);
        }
        to.get(LABELS).putLong(sample.label());
    }
}
