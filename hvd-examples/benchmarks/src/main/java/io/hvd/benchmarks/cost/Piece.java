package io.hvd.benchmarks.cost;

/**
 * What an algorithm costs in one range of sizes.
 *
 * @param upToBytes the largest of them
 * @param inside between ranks of one host
 * @param crowdedSeconds that a message waits for a core, for each rank that there is for one
 * @param between between ranks of two hosts
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
