package io.hvd.transport.mpi.bindings;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.transport.mpi.calls.Mpi;
import io.hvd.transport.mpi.calls.MpiCommunicator;
import io.hvd.transport.mpi.calls.ThreadLevel;
import java.nio.ByteBuffer;
import java.util.stream.Stream;
import mpi.Datatype;
import mpi.Intracomm;
import mpi.MPI;
import mpi.MPIException;
import mpi.Op;

/** MPI by Open MPI's Java bindings. */
public final class JarMpi implements Mpi {
    @Override
    public boolean isInitialized() {
        try {
            return MPI.isInitialized();
        } catch (MPIException e) {
            throw failed("MPI_Initialized", e);
        }
    }

    @Override
    public ThreadLevel initialize(ThreadLevel wanted) {
        try {
            return level(MPI.InitThread(new String[0], number(wanted)));
        } catch (MPIException e) {
            throw failed("MPI_Init_thread", e);
        }
    }

    @Override
    public ThreadLevel provided() {
        try {
            return level(MPI.queryThread());
        } catch (MPIException e) {
            throw failed("MPI_Query_thread", e);
        }
    }

    @Override
    public boolean isThreadMain() {
        try {
            return MPI.isThreadMain();
        } catch (MPIException e) {
            throw failed("MPI_Is_thread_main", e);
        }
    }

    @Override
    public MpiCommunicator world() {
        return new JarCommunicator(MPI.COMM_WORLD);
    }

    @Override
    public String processorName() {
        try {
            return MPI.getProcessorName();
        } catch (MPIException e) {
            throw failed("MPI_Get_processor_name", e);
        }
    }

    @Override
    public String libraryVersion() {
        return MPI.getLibVersion();
    }

    @Override
    public void reduceLocal(ByteBuffer operand, ByteBuffer result, int count, DType type, ReduceOp op) {
        try {
            Intracomm.reduceLocal(operand, result, count, datatype(type), op(op));
        } catch (MPIException e) {
            throw failed("MPI_Reduce_local", e);
        }
    }

    @Override
    public void finish() {
        try {
            MPI.Finalize();
        } catch (MPIException e) {
            throw failed("MPI_Finalize", e);
        }
    }

    static HvdException failed(String function, MPIException cause) {
        return new HvdException(ErrorId.BACK_END, function + " failed: " + cause.getMessage(), cause);
    }

    static Datatype datatype(DType type) {
        return switch (type) {
            case FLOAT32 -> MPI.FLOAT;
            case FLOAT64 -> MPI.DOUBLE;
            case INT32 -> MPI.INT;
            case INT64 -> MPI.LONG;
            // MPI_UINT8_T.
            case BOOL -> MPI.BOOLEAN;
            case INT8, UINT8, INT16, UINT16, FLOAT16, BFLOAT16 ->
                throw new IllegalArgumentException("MPI is not asked to reduce " + type);
        };
    }

    static Op op(ReduceOp op) {
        return switch (op) {
            case SUM -> MPI.SUM;
            case MIN -> MPI.MIN;
            case MAX -> MPI.MAX;
            case PRODUCT -> MPI.PROD;
            case AVERAGE, ADASUM -> throw new IllegalArgumentException("MPI has no operation for " + op);
        };
    }

    private static int number(ThreadLevel level) {
        return switch (level) {
            case SINGLE -> MPI.THREAD_SINGLE;
            case FUNNELED -> MPI.THREAD_FUNNELED;
            case SERIALIZED -> MPI.THREAD_SERIALIZED;
            case MULTIPLE -> MPI.THREAD_MULTIPLE;
        };
    }

    private static ThreadLevel level(int number) {
        return Stream.of(ThreadLevel.values())
                .filter(level -> number(level) == number)
                .findFirst()
                .orElseThrow();
    }
}
