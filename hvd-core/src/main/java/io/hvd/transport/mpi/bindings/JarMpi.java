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
    /** A function that returns something. */
    interface Call<T> {
        T run() throws MPIException;
    }

    /** A function that returns nothing. */
    interface Order {
        void run() throws MPIException;
    }

    /** Loads the bindings' native library, so that what is wrong with it is said here. */
    public JarMpi() {
        isInitialized();
    }

    static <T> T result(String function, Call<T> call) {
        try {
            return call.run();
        } catch (MPIException e) {
            throw failed(function, e);
        }
    }

    static void run(String function, Order order) {
        try {
            order.run();
        } catch (MPIException e) {
            throw failed(function, e);
        }
    }

    private static HvdException failed(String function, MPIException cause) {
        return new HvdException(ErrorId.BACK_END, function + " failed: " + cause.getMessage(), cause);
    }

    @Override
    public boolean isInitialized() {
        return result("MPI_Initialized", MPI::isInitialized);
    }

    @Override
    public ThreadLevel initialize(ThreadLevel wanted) {
        return level(result("MPI_Init_thread", () -> MPI.InitThread(new String[0], number(wanted))));
    }

    @Override
    public ThreadLevel provided() {
        return level(result("MPI_Query_thread", MPI::queryThread));
    }

    @Override
    public boolean isThreadMain() {
        return result("MPI_Is_thread_main", MPI::isThreadMain);
    }

    @Override
    public MpiCommunicator world() {
        return new JarCommunicator(MPI.COMM_WORLD);
    }

    @Override
    public String processorName() {
        return result("MPI_Get_processor_name", MPI::getProcessorName);
    }

    @Override
    public String version() {
        return MPI.getLibVersion();
    }

    @Override
    public void reduceLocal(ByteBuffer operand, ByteBuffer result, int count, DType type, ReduceOp op) {
        run("MPI_Reduce_local", () -> Intracomm.reduceLocal(operand, result, count, datatype(type), op(op)));
    }

    @Override
    public void finish() {
        run("MPI_Finalize", MPI::Finalize);
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
