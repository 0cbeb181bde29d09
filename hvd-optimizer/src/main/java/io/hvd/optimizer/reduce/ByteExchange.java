package io.hvd.optimizer.reduce;

import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The way of one bucket's {@link ByteBlock}s in one step: to the rank that averages them, and back from it. */
final class ByteExchange {
    private final GradientBucket bucket;
    private final List<ByteBlock> blocks;
    private final int ranks;

    ByteExchange(GradientBucket bucket, List<ByteBlock> blocks) {
        this.bucket = bucket;
        this.blocks = blocks;
        this.ranks = bucket.ranks().size();
    }

    CompletableFuture<Void> run() {
        ByteBuffer all = ByteBuffer.allocate(bytes(blocks));
        blocks.forEach(block -> block.encodeOwn(all));
        int[] splits = new int[ranks];
        for (int rank = 0; rank < ranks; rank++) {
            splits[rank] = bytes(shareOf(rank));
        }
        return bucket.alltoall("shares", Tensor.ofBytes(all.array()), splits)
                .thenCompose(received -> bucket.allgather(
                        "averages", averages((byte[]) received.output().toArray())))
                .thenAccept(averaged -> end((byte[]) averaged.toArray()));
    }

    /** The blocks that a rank averages. */
    private List<ByteBlock> shareOf(int rank) {
        long count = blocks.size();
        return blocks.subList((int) (count * rank / ranks), (int) (count * (rank + 1) / ranks));
    }

    private static int bytes(List<ByteBlock> some) {
        return some.stream().mapToInt(ByteBlock::encodedBytes).reduce(0, Math::addExact);
    }

    /** @param received this rank's share, as each rank has sent it, one after the other */
    private Tensor averages(byte[] received) {
        List<ByteBlock> share = shareOf(bucket.ranks().rank());
        int bytes = bytes(share);
        ByteBuffer in = ByteBuffer.wrap(received);
        ByteBuffer out = ByteBuffer.allocate(bytes);
        int at = 0;
        for (ByteBlock block : share) {
            double[] sum = new double[block.length()]; // in which finite numbers have a finite sum
            for (int rank = 0; rank < ranks; rank++) {
                ByteBlock.addDecoded(in.position(rank * bytes + at), sum);
            }
            float[] average = new float[sum.length];
            for (int i = 0; i < average.length; i++) {
                average[i] = (float) (sum[i] / ranks);
            }
            ByteBlock.encode(average, out);
            keepLeftOut(block, average, out.duplicate().position(at));
            at += block.encodedBytes();
        }
        return Tensor.ofBytes(out.array());
    }

    private void keepLeftOut(ByteBlock block, float[] average, ByteBuffer encoded) {
        double[] sent = new double[average.length];
        ByteBlock.addDecoded(encoded, sent);
        for (int i = 0; i < sent.length; i++) {
            block.keepOfAverage(average[i] - sent[i], i, ranks);
        }
    }

    private void end(byte[] all) {
        ByteBuffer encoded = ByteBuffer.wrap(all);
        blocks.forEach(block -> block.end(encoded));
    }
}
