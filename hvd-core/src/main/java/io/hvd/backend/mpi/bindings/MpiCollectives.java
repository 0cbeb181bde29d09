package io.hvd.backend.mpi.bindings;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Collectives;
import io.hvd.spi.Reduction;
import io.hvd.tensor.BufferMemory;
import io.hvd.tensor.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.FlatView;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Reducer;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import mpi.Datatype;
import mpi.Intracomm;
import mpi.MPI;
import mpi.MPIException;
import mpi.Op;

/**
 * Collectives over one communicator. Host tensors stream through a staging buffer that stays in
 * cache; a single direct buffer that needs neither scaling nor conversion is reduced where it lies.
 */
final class MpiCollectives implements Collectives {
    private final Intracomm comm;
    private final int rank;
    private final int size;
    private final ByteBuffer stage;
    /** Second stage for what MPI cannot do in place. */
    private final ByteBuffer other;

    private final Converter converter = new Converter();
    private final Reducer reducer = new Reducer();

    MpiCollectives(Intracomm comm, int stageBytes) throws MPIException {
        this.comm = comm;
        this.rank = comm.getRank();
        this.size = comm.getSize();
        // One spare element per rank: slices of 16-bit types are padded to equal length.
        this.stage = direct(stageBytes + 8 * size);
        this.other = direct(stageBytes + 8 * size);
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        if (reducedInPlace(inputs, outputs, how)) {
            return;
        }
        FlatView source = new FlatView(inputs, how.wire(), converter);
        FlatView target = new FlatView(outputs, how.wire(), converter);
        int chunk = chunkElements(how.wire());
        for (long from = 0; from < source.elements(); from += chunk) {
            int count = (int) Math.min(chunk, source.elements() - from);
            source.pack(from, count, stage, how.prescale());
            reduce(stage, count, how);
            target.unpack(from, count, stage, how.postscale());
        }
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        DType type = input.dtype();
        long longest = java.util.Arrays.stream(elements).max().orElse(0);
        int chunk = Math.max(1, chunkElements(type) / size);
        long[] starts = new long[size];
        for (int i = 1; i < size; i++) {
            starts[i] = starts[i - 1] + elements[i - 1];
        }
        for (long from = 0; from < longest; from += chunk) {
            gatherChunk(input, output, elements, starts, from, chunk);
        }
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        DType type = inputs.get(0).dtype();
        FlatView source = new FlatView(inputs, type, converter);
        FlatView target = new FlatView(outputs, type, converter);
        int chunk = chunkElements(type);
        for (long from = 0; from < source.elements(); from += chunk) {
            int count = (int) Math.min(chunk, source.elements() - from);
            if (rank == root) {
                source.pack(from, count, stage, 1.0);
            }
            call("MPI_Bcast", () -> comm.bcast(stage, count * type.bytes(), MPI.BYTE, root));
            target.unpack(from, count, stage, 1.0);
        }
    }

    private int chunkElements(DType type) {
        return (stage.capacity() - 8 * size) / type.bytes();
    }

    /** The zero-copy way: one direct buffer, in place, as MPI can reduce it. */
    private boolean reducedInPlace(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        Tensor only = inputs.get(0);
        boolean plain = inputs.size() == 1
                && outputs.get(0) == only
                && only.dtype() == how.wire()
                && !reducedInJava(how)
                && how.prescale() == 1.0
                && how.postscale() == 1.0
                && only.memory() instanceof BufferMemory;
        if (plain) {
            ByteBuffer buffer = ((BufferMemory) only.memory()).buffer();
            // In the same slices as a staged tensor: another rank may hold this one in an array.
            int chunk = chunkElements(how.wire());
            int bytes = how.wire().bytes();
            for (long from = 0; from < only.elements(); from += chunk) {
                int count = (int) Math.min(chunk, only.elements() - from);
                reduce(part(buffer, Math.toIntExact(from * bytes), count * bytes), count, how);
            }
        }
        return plain;
    }

    private void reduce(ByteBuffer buffer, int count, Reduction how) {
        if (size == 1) {
            return;
        }
        if (reducedInJava(how)) {
            reduceHalves(buffer, count, how);
        } else {
            call(
                    "MPI_Allreduce",
                    () -> comm.allReduce(
                            buffer, count, datatype(how.wire()), op(how.op().arithmeticOn(how.wire()))));
        }
    }

    /** MPI has no 16-bit floating type, and its Java bindings no signed byte: its order would be that of 0 to 255. */
    private static boolean reducedInJava(Reduction how) {
        boolean ordered = how.op() == ReduceOp.MIN || how.op() == ReduceOp.MAX;
        return how.wire().isHalf() || (how.wire() == DType.INT8 && ordered);
    }

    /**
     * MPI knows no 16-bit floating type: each rank collects its slice of all ranks, reduces it in
     * rank order with a float32 accumulator, and hands the result to all. Sends 2(n-1)/n of the data.
     */
    private void reduceHalves(ByteBuffer buffer, int count, Reduction how) {
        int slice = (count + size - 1) / size;
        int bytes = slice * how.wire().bytes();
        call("MPI_Alltoall", () -> comm.allToAll(buffer, bytes, MPI.BYTE, other, bytes, MPI.BYTE));
        List<ByteBuffer> parts = new ArrayList<>(size);
        for (int from = 0; from < size; from++) {
            parts.add(part(other, from * bytes, bytes));
        }
        reducer.reduce(how.op(), how.wire(), parts, 0, slice, part(buffer, rank * bytes, bytes));
        call("MPI_Allgather", () -> comm.allGather(buffer, bytes, MPI.BYTE));
    }

    private void gatherChunk(Tensor input, Tensor output, long[] elements, long[] starts, long from, int chunk) {
        DType type = input.dtype();
        int[] lengths = new int[size];
        int[] offsets = new int[size];
        for (int i = 0; i < size; i++) {
            lengths[i] = (int) Math.max(0, Math.min(chunk, elements[i] - from)) * type.bytes();
            offsets[i] = i == 0 ? 0 : offsets[i - 1] + lengths[i - 1];
        }
        if (lengths[rank] > 0) {
            converter.pack(input, from, lengths[rank] / type.bytes(), stage, 0, type, 1.0);
        }
        call(
                "MPI_Allgatherv",
                () -> comm.allGatherv(stage, lengths[rank], MPI.BYTE, other, lengths, offsets, MPI.BYTE));
        for (int i = 0; i < size; i++) {
            if (lengths[i] > 0) {
                converter.unpack(other, offsets[i], type, output, starts[i] + from, lengths[i] / type.bytes(), 1.0);
            }
        }
    }

    private static Datatype datatype(DType type) {
        return switch (type) {
            case FLOAT32 -> MPI.FLOAT;
            case FLOAT64 -> MPI.DOUBLE;
            case INT32 -> MPI.INT;
            case INT64 -> MPI.LONG;
            // The bindings' BYTE and BOOLEAN are both MPI_UINT8_T, their CHAR is MPI_UINT16_T.
            case INT8 -> MPI.BYTE;
            case UINT8, BOOL -> MPI.BOOLEAN;
            case INT16 -> MPI.SHORT;
            case UINT16 -> MPI.CHAR;
            case FLOAT16, BFLOAT16 -> throw new IllegalArgumentException("MPI has no type for " + type);
        };
    }

    private static Op op(ReduceOp op) {
        return switch (op) {
            case SUM -> MPI.SUM;
            case MIN -> MPI.MIN;
            case MAX -> MPI.MAX;
            case PRODUCT -> MPI.PROD;
            case AVERAGE, ADASUM -> throw new IllegalArgumentException("MPI has no operation for " + op);
        };
    }

    private static ByteBuffer part(ByteBuffer buffer, int from, int bytes) {
        return buffer.slice(from, bytes).order(ByteOrder.nativeOrder());
    }

    private static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    private static void call(String name, MpiCall call) {
        try {
            call.run();
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, name + " failed: " + e.getMessage(), e);
        }
    }

    private interface MpiCall {
        void run() throws MPIException;
    }
}
