package io.hvd.collective;

import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.spi.Activities;
import io.hvd.spi.ByteCollectives;
import io.hvd.spi.Pieces;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Collectives that move elements without changing them, over the stage; {@link PipelinedMovement} has some of them too.
 */
final class Movement {
    private final ByteCollectives bytes;
    private final Stage stage;
    private final Converter converter;

    Movement(ByteCollectives bytes, Stage stage, Converter converter) {
        this.bytes = bytes;
        this.stage = stage;
        this.converter = converter;
    }

    void allgather(Tensor input, Tensor output, long[] elements) {
        DType type = input.dtype();
        int share = stage.share(type);
        Pieces pieces = Pieces.oneBehindTheOther(elements);
        for (long from = 0; from < pieces.longest(); from += share) {
            Round round = new Round(pieces, from, share, type);
            packOne(input, from, round.lengths[stage.rank], type);
            bytes.allgather(stage.front(), stage.back(), round.lengths, round.offsets);
            unpackAll(output, round);
        }
    }

    void gather(Tensor input, Tensor output, long[] elements, int root) {
        DType type = input.dtype();
        int share = stage.share(type);
        Pieces pieces = Pieces.oneBehindTheOther(elements);
        for (long from = 0; from < pieces.longest(); from += share) {
            Round round = new Round(pieces, from, share, type);
            packOne(input, from, round.lengths[stage.rank], type);
            bytes.gather(stage.front(), stage.back(), round.lengths, round.offsets, root);
            if (stage.rank == root) {
                unpackAll(output, round);
            }
        }
    }

    void scatter(Tensor input, Tensor output, long[] elements, int root) {
        DType type = output.dtype();
        int share = stage.share(type);
        Pieces pieces = Pieces.oneBehindTheOther(elements);
        for (long from = 0; from < pieces.longest(); from += share) {
            Round round = new Round(pieces, from, share, type);
            if (stage.rank == root) {
                packAll(input, round);
            }
            int mine = round.lengths[stage.rank];
            bytes.scatter(stage.front(), round.lengths, round.offsets, stage.back(), root);
            if (mine > 0) {
                unpackOne(output, from, mine / type.bytes());
            }
        }
    }

    /** Does an alltoall in one round. */
    void alltoall(Tensor input, Tensor output, long[] sent, long[] received) {
        DType type = input.dtype();
        int share = stage.share(type);
        Round out = new Round(Pieces.oneBehindTheOther(sent), 0, share, type);
        Round in = new Round(Pieces.oneBehindTheOther(received), 0, share, type);
        packAll(input, out);
        bytes.alltoall(stage.front(), out.lengths, out.offsets, stage.back(), in.lengths, in.offsets);
        unpackAll(output, in);
    }

    void send(Tensor tensor, int to) {
        DType type = tensor.dtype();
        int chunk = stage.chunk(type);
        for (long from = 0; from < tensor.elements(); from += chunk) {
            int count = (int) Math.min(chunk, tensor.elements() - from);
            packOne(tensor, from, count * type.bytes(), type);
            bytes.send(stage.front(), count * type.bytes(), to);
        }
    }

    void receive(Tensor tensor, int sender) {
        DType type = tensor.dtype();
        int chunk = stage.chunk(type);
        for (long from = 0; from < tensor.elements(); from += chunk) {
            int count = (int) Math.min(chunk, tensor.elements() - from);
            bytes.receive(stage.back(), count * type.bytes(), sender);
            unpackOne(tensor, from, count);
        }
    }

    private void packOne(Tensor input, long from, int bytes, DType type) {
        if (bytes > 0) {
            stage.copy(
                    Activities.COPY_IN,
                    () -> converter.pack(input, from, bytes / type.bytes(), stage.front(), 0, type, 1.0));
        }
    }

    private void unpackOne(Tensor output, long from, int count) {
        stage.copy(
                Activities.COPY_OUT,
                () -> converter.unpack(stage.back(), 0, output.dtype(), output, from, count, Scale.ONE));
    }

    private void packAll(Tensor input, Round round) {
        long begun = stage.activities.begin();
        for (int i = 0; i < round.lengths.length; i++) {
            if (round.lengths[i] > 0) {
                converter.pack(input, round.first(i), round.count(i), stage.front(), round.offsets[i], round.type, 1.0);
            }
        }
        stage.activities.end(Activities.COPY_IN, begun);
    }

    private void unpackAll(Tensor output, Round round) {
        long begun = stage.activities.begin();
        for (int i = 0; i < round.lengths.length; i++) {
            if (round.lengths[i] > 0) {
                converter.unpack(
                        stage.back(), round.offsets[i], round.type, output, round.first(i), round.count(i), Scale.ONE);
            }
        }
        stage.activities.end(Activities.COPY_OUT, begun);
    }

    /** Number of bytes of each rank in one round, and their places on the stage. */
    private static final class Round {
        final int[] lengths;
        final int[] offsets;
        final DType type;
        private final Pieces pieces;
        private final long from;

        Round(Pieces pieces, long from, int share, DType type) {
            this.pieces = pieces;
            this.from = from;
            this.type = type;
            lengths = IntStream.range(0, pieces.counts().length)
                    .map(rank -> pieces.count(rank, from, share) * type.bytes())
                    .toArray();
            offsets = IntStream.range(0, lengths.length)
                    .map(i -> Arrays.stream(lengths, 0, i).sum())
                    .toArray();
        }

        /** The first element of a rank's part of this round, in the tensor. */
        long first(int rank) {
            return pieces.starts()[rank] + from;
        }

        int count(int rank) {
            return lengths[rank] / type.bytes();
        }
    }
}
