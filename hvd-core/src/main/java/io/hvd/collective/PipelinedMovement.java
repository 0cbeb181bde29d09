package io.hvd.collective;

import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.spi.Activities;
import io.hvd.spi.Pieces;
import io.hvd.spi.Reduction;
import io.hvd.tensor.BufferMemory;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;

/**
 * Allgather, alltoall and reduce-scatter of more than the stage holds, in the rounds of a {@link Pipeline}. Tensors in
 * direct buffers whose elements travel unchanged are sent from there and received there; all others go over the stage.
 * The other ranks see no difference.
 */
final class PipelinedMovement {
    private static final String ALLGATHER = "MPI_ALLGATHER";
    private static final String ALLTOALL = "MPI_ALLTOALL";

    private final Stage stage;
    private final RingPosition position;
    private final StageReduction reduction;
    private final Converter converter;
    private final Pipeline pipeline;

    PipelinedMovement(
            Stage stage, RingPosition position, NetworkWait wait, StageReduction reduction, Converter converter) {
        this.stage = stage;
        this.position = position;
        this.reduction = reduction;
        this.converter = converter;
        this.pipeline = new Pipeline(stage, wait);
    }

    void allgather(Tensor input, Tensor output, long[] elements) {
        Pieces pieces = Pieces.oneBehindTheOther(elements);
        Pieces mine = Pieces.only(stage.rank, elements[stage.rank], stage.size);
        pipeline.run(input.dtype(), pieces.longest(), ALLGATHER, round -> {
            ByteBuffer[] sent = new ByteBuffer[stage.size];
            long begun = stage.activities.begin();
            Arrays.fill(sent, outgoing(round, input, mine, stage.rank, 1.0));
            stage.activities.end(Activities.COPY_IN, begun);
            return move(round, sent, output, pieces);
        });
    }

    void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        Pieces leaving = Pieces.oneBehindTheOther(sent);
        Pieces coming = Pieces.oneBehindTheOther(received);
        pipeline.run(
                input.dtype(),
                longest,
                ALLTOALL,
                round -> move(round, outgoing(round, input, leaving, 1.0), output, coming));
    }

    /** Receives this rank's piece of every rank's tensor, and reduces the pieces in the order of the ranks. */
    void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        Pieces pieces = Pieces.oneBehindTheOther(elements);
        pipeline.run(how.wire(), pieces.longest(), ALLTOALL, round -> {
            int mine = round.count(pieces, stage.rank);
            ByteBuffer[] sent = outgoing(round, input, pieces, how.prescale());
            ByteBuffer[] arrived = arriving(sent, from -> round.back(from, mine));
            return exchange(sent, arrived, () -> combine(round, List.of(arrived), mine, output, how));
        });
    }

    private void combine(PipelineRound round, List<ByteBuffer> parts, int count, Tensor output, Reduction how) {
        if (count > 0) {
            // Nothing arrives at this rank's own place: its own part stays where it was packed.
            ByteBuffer result = round.back(stage.rank, count);
            reduction.reduce(parts, count, how, result);
            stage.copy(
                    Activities.COPY_OUT,
                    () -> converter.unpack(result, 0, how.wire(), output, round.from(), count, how.scale()));
        }
    }

    private Pipeline.RoundExchange move(PipelineRound round, ByteBuffer[] sent, Tensor output, Pieces pieces) {
        ByteBuffer[] arrived = arriving(sent, from -> incoming(round, output, pieces, from));
        return exchange(sent, arrived, () -> unpack(round, arrived, output, pieces));
    }

    private Pipeline.RoundExchange exchange(ByteBuffer[] sent, ByteBuffer[] arrived, Runnable onArrival) {
        return new Pipeline.RoundExchange(new Exchange(position, to -> sent[to], from -> arrived[from]), onArrival);
    }

    /** The place for each rank's elements; this rank's own elements stay where they are. */
    private ByteBuffer[] arriving(ByteBuffer[] sent, IntFunction<ByteBuffer> place) {
        ByteBuffer[] arriving = new ByteBuffer[stage.size];
        Arrays.setAll(arriving, from -> from == stage.rank ? sent[from] : place.apply(from));
        return arriving;
    }

    private ByteBuffer[] outgoing(PipelineRound round, Tensor input, Pieces pieces, double scale) {
        ByteBuffer[] outgoing = new ByteBuffer[stage.size];
        long begun = stage.activities.begin();
        Arrays.setAll(outgoing, to -> outgoing(round, input, pieces, to, scale));
        stage.activities.end(Activities.COPY_IN, begun);
        return outgoing;
    }

    /** The elements for a rank in the type that travels, in the tensor itself or on the stage. */
    private ByteBuffer outgoing(PipelineRound round, Tensor input, Pieces pieces, int to, double scale) {
        int count = round.count(pieces, to);
        long first = round.first(pieces, to);
        if (count > 0 && scale == 1.0 && travelsAsItLies(input, round.type())) {
            return part(input, first, count);
        }
        ByteBuffer place = round.front(to, count);
        if (count > 0) {
            converter.pack(input, first, count, place, 0, round.type(), scale);
        }
        return place;
    }

    private ByteBuffer incoming(PipelineRound round, Tensor output, Pieces pieces, int from) {
        int count = round.count(pieces, from);
        return count > 0 && travelsAsItLies(output, round.type())
                ? part(output, round.first(pieces, from), count)
                : round.back(from, count);
    }

    private void unpack(PipelineRound round, ByteBuffer[] arrived, Tensor output, Pieces pieces) {
        boolean there = travelsAsItLies(output, round.type());
        long begun = stage.activities.begin();
        for (int from = 0; from < stage.size; from++) {
            int count = round.count(pieces, from);
            if (count > 0 && (!there || from == stage.rank)) {
                long first = round.first(pieces, from);
                converter.unpack(arrived[from], 0, round.type(), output, first, count, Scale.ONE);
            }
        }
        stage.activities.end(Activities.COPY_OUT, begun);
    }

    private static boolean travelsAsItLies(Tensor tensor, DType type) {
        return tensor.dtype() == type && tensor.memory() instanceof BufferMemory;
    }

    private static ByteBuffer part(Tensor tensor, long first, int count) {
        int bytes = tensor.dtype().bytes();
        ByteBuffer buffer = ((BufferMemory) tensor.memory()).buffer();
        return Blocks.part(buffer, Math.toIntExact(first * bytes), count * bytes);
    }
}
