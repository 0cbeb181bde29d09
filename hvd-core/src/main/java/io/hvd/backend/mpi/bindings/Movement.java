package io.hvd.backend.mpi.bindings;

import io.hvd.spi.Activities;
import io.hvd.tensor.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.stream.IntStream;
import mpi.MPI;

/** Collectives that move elements and leave them as they are, round by round over the stage. */
final class Movement {
    private static final int TRANSFER_TAG = 7;

    private final Stage stage;
    private final Converter converter;

    Movement(Stage stage, Converter converter) {
        this.stage = stage;
        this.converter = converter;
    }

    void allgather(Tensor input, Tensor output, long[] elements) {
        DType type = input.dtype();
        int share = stage.share(type);
        for (long from = 0; from < longest(elements); from += share) {
            Round round = new Round(elements, from, share, type);
            packOne(input, from, round.lengths[stage.rank], type);
            stage.call(
                    "MPI_Allgatherv",
                    () -> stage.comm.allGatherv(
                            stage.front,
                            round.lengths[stage.rank],
                            MPI.BYTE,
                            stage.back,
                            round.lengths,
                            round.offsets,
                            MPI.BYTE));
            unpackAll(output, elements, round, from);
        }
    }

    void gather(Tensor input, Tensor output, long[] elements, int root) {
        DType type = input.dtype();
        int share = stage.share(type);
        for (long from = 0; from < longest(elements); from += share) {
            Round round = new Round(elements, from, share, type);
            packOne(input, from, round.lengths[stage.rank], type);
            stage.call(
                    "MPI_Gatherv",
                    () -> stage.comm.gatherv(
                            stage.front,
                            round.lengths[stage.rank],
                            MPI.BYTE,
                            stage.back,
                            round.lengths,
                            round.offsets,
                            MPI.BYTE,
                            root));
            if (stage.rank == root) {
                unpackAll(output, elements, round, from);
            }
        }
    }

    void scatter(Tensor input, Tensor output, long[] elements, int root) {
        DType type = output.dtype();
        int share = stage.share(type);
        for (long from = 0; from < longest(elements); from += share) {
            Round round = new Round(elements, from, share, type);
            if (stage.rank == root) {
                packAll(input, elements, round, from);
            }
            int mine = round.lengths[stage.rank];
            stage.call(
                    "MPI_Scatterv",
                    () -> stage.comm.scatterv(
                            stage.front, round.lengths, round.offsets, MPI.BYTE, stage.back, mine, MPI.BYTE, root));
            if (mine > 0) {
                unpackOne(output, from, mine / type.bytes());
            }
        }
    }

    void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        DType type = input.dtype();
        int share = stage.share(type);
        for (long from = 0; from < longest; from += share) {
            Round out = new Round(sent, from, share, type);
            Round in = new Round(received, from, share, type);
            packAll(input, sent, out, from);
            stage.call(
                    "MPI_Alltoallv",
                    () -> stage.comm.allToAllv(
                            stage.front,
                            out.lengths,
                            out.offsets,
                            MPI.BYTE,
                            stage.back,
                            in.lengths,
                            in.offsets,
                            MPI.BYTE));
            unpackAll(output, received, in, from);
        }
    }

    void send(Tensor tensor, int to) {
        DType type = tensor.dtype();
        int chunk = stage.chunk(type);
        for (long from = 0; from < tensor.elements(); from += chunk) {
            int count = (int) Math.min(chunk, tensor.elements() - from);
            packOne(tensor, from, count * type.bytes(), type);
            stage.call(
                    "MPI_Send", () -> stage.comm.send(stage.front, count * type.bytes(), MPI.BYTE, to, TRANSFER_TAG));
        }
    }

    void receive(Tensor tensor, int sender) {
        DType type = tensor.dtype();
        int chunk = stage.chunk(type);
        for (long from = 0; from < tensor.elements(); from += chunk) {
            int count = (int) Math.min(chunk, tensor.elements() - from);
            stage.call(
                    "MPI_Recv",
                    () -> stage.comm.recv(stage.back, count * type.bytes(), MPI.BYTE, sender, TRANSFER_TAG));
            unpackOne(tensor, from, count);
        }
    }

    static long longest(long[] elements) {
        return Arrays.stream(elements).max().orElse(0);
    }

    /** Where each rank's elements begin when they lie one behind the other. */
    static long[] starts(long[] elements) {
        long[] starts = new long[elements.length];
        for (int i = 1; i < starts.length; i++) {
            starts[i] = starts[i - 1] + elements[i - 1];
        }
        return starts;
    }

    /** How many of a rank's elements go in the round that begins at {@code from}. */
    static int count(long elements, long from, int share) {
        return (int) Math.max(0, Math.min(share, elements - from));
    }

    private void packOne(Tensor input, long from, int bytes, DType type) {
        if (bytes > 0) {
            stage.copy(
                    Activities.COPY_IN,
                    () -> converter.pack(input, from, bytes / type.bytes(), stage.front, 0, type, 1.0));
        }
    }

    private void unpackOne(Tensor output, long from, int count) {
        stage.copy(
                Activities.COPY_OUT, () -> converter.unpack(stage.back, 0, output.dtype(), output, from, count, 1.0));
    }

    private void packAll(Tensor input, long[] elements, Round round, long from) {
        long begun = stage.activities.begin();
        DType type = input.dtype();
        long[] starts = starts(elements);
        for (int i = 0; i < elements.length; i++) {
            if (round.lengths[i] > 0) {
                int count = round.lengths[i] / type.bytes();
                converter.pack(input, starts[i] + from, count, stage.front, round.offsets[i], type, 1.0);
            }
        }
        stage.activities.end(Activities.COPY_IN, begun);
    }

    private void unpackAll(Tensor output, long[] elements, Round round, long from) {
        long begun = stage.activities.begin();
        DType type = output.dtype();
        long[] starts = starts(elements);
        for (int i = 0; i < elements.length; i++) {
            if (round.lengths[i] > 0) {
                int count = round.lengths[i] / type.bytes();
                converter.unpack(stage.back, round.offsets[i], type, output, starts[i] + from, count, 1.0);
            }
        }
        stage.activities.end(Activities.COPY_OUT, begun);
    }

    /** How many bytes of each rank go in one round, and where they lie on the stage. */
    private static final class Round {
        final int[] lengths;
        final int[] offsets;

        Round(long[] elements, long from, int share, DType type) {
            lengths = Arrays.stream(elements)
                    .mapToInt(all -> count(all, from, share) * type.bytes())
                    .toArray();
            offsets = IntStream.range(0, lengths.length)
                    .map(i -> Arrays.stream(lengths, 0, i).sum())
                    .toArray();
        }
    }
}
