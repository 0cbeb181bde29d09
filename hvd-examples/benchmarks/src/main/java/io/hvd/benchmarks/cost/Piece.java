package io.hvd.benchmarks.cost;

/**
 * The cost of an algorithm in one range of sizes.
 *
 * @param upToBytes the largest size of the range
 * @param inside the cost of messages between ranks of one host
 * @param crowdedSeconds the time that a message waits for a core, which is multiplied by the number of ranks per core
 * @param between the cost of messages between ranks of two hosts
 */
record Piece(Form form, long upToBytes, Link inside, double crowdedSeconds, Link between) {
    double seconds(Terms terms, double gammaSecondsPerByte) {
        return terms.inside() * inside.alphaSeconds()
                + terms.crowded() * crowdedSeconds
                + terms.insideBytes() * inside.betaSecondsPerByte()
                + terms.between() * between.alphaSeconds()
                + terms.betweenBytes() * between.betaSecondsPerByte()
                + terms.reducedBytes() * gammaSecondsPerByte;
    }
}
