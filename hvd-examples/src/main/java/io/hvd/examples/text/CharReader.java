package io.hvd.examples.text;

/** Lets a model read one character after the other, as it does when it writes. */
interface CharReader extends AutoCloseable {
    /** Log-probabilities of what follows this character and all those before it that the model can remember. */
    float[] scoresAfter(int character);

    @Override
    void close();
}
