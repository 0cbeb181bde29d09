package io.hvd.transport.mpi.foreign;

import static io.hvd.transport.mpi.foreign.Functions.CONVENTION;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.transport.mpi.calls.Mpi;
import io.hvd.transport.mpi.calls.MpiCommunicator;
import io.hvd.transport.mpi.calls.ThreadLevel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/** MPI by Java's foreign functions, which need no Java bindings of MPI's own (JEP 454). */
public final class ForeignMpi implements Mpi {
    private final MpiCommunicator world = new ForeignCommunicator(CONVENTION.commWorld());

    @Override
    public boolean isInitialized() {
        return number("MPI_Initialized", out -> (int) Functions.INITIALIZED.invokeExact(out)) != 0;
    }

    @Override
    public ThreadLevel initialize(ThreadLevel wanted) {
        int asked = CONVENTION.threadLevels().get(wanted.ordinal());
        int given = number("MPI_Init_thread", out -> (int) Functions.INIT_THREAD.invokeExact(0L, 0L, asked, out));
        Functions.run("MPI_Comm_set_errhandler", () ->
                (int) Functions.COMM_SET_ERRHANDLER.invokeExact(CONVENTION.commWorld(), CONVENTION.errorsReturn()));
        return level(given);
    }

    private static ThreadLevel level(int number) {
        int level = CONVENTION.threadLevels().indexOf(number);
        if (level < 0) {
            throw new HvdException(
                    ErrorId.MPI_LEVEL,
                    "MPI offers the thread level " + number + ", expected one of " + CONVENTION.threadLevels()
                            + " by the convention of " + CONVENTION.name());
        }
        return ThreadLevel.values()[level];
    }

    @Override
    public ThreadLevel provided() {
        return level(number("MPI_Query_thread", out -> (int) Functions.QUERY_THREAD.invokeExact(out)));
    }

    @Override
    public boolean isThreadMain() {
        return number("MPI_Is_thread_main", out -> (int) Functions.IS_THREAD_MAIN.invokeExact(out)) != 0;
    }

    @Override
    public MpiCommunicator world() {
        return world;
    }

    @Override
    public String processorName() {
        return Functions.text("MPI_Get_processor_name", (text, length) ->
                (int) Functions.GET_PROCESSOR_NAME.invokeExact(text, length));
    }

    @Override
    public String version() {
        return Functions.text("MPI_Get_library_version", (text, length) ->
                (int) Functions.GET_LIBRARY_VERSION.invokeExact(text, length));
    }

    @Override
    public void reduceLocal(ByteBuffer operand, ByteBuffer result, int count, DType type, ReduceOp op) {
        long source = Functions.address(operand);
        long target = Functions.address(result);
        Functions.run("MPI_Reduce_local", () -> (int) Functions.REDUCE_LOCAL.invokeExact(
                source,
                target,
                count,
                CONVENTION.types().of(type),
                CONVENTION.operations().of(op)));
        Reference.reachabilityFence(operand);
        Reference.reachabilityFence(result);
    }

    @Override
    public void finish() {
        Functions.run("MPI_Finalize", () -> (int) Functions.FINALIZE.invokeExact());
    }

    /** A function whose result is a number that it writes. */
    interface Writer {
        int write(long out) throws Throwable;
    }

    static int number(String function, Writer writer) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(ValueLayout.JAVA_INT);
            Functions.run(function, () -> writer.write(out.address()));
            return out.get(ValueLayout.JAVA_INT, 0);
        }
    }
}
