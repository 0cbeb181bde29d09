package io.hvd.transport.mpi.foreign;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.transport.mpi.ForeignClassLoader;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;

/**
 * MPI's functions in the library that this class's loader names. They are constants, so that the JIT compiles each call to
 * one of the machine. Handles and addresses are long, and numbers int; each function returns MPI's error code.
 */
final class Functions {
    private static final String FILE = ((ForeignClassLoader) Functions.class.getClassLoader()).mpiFile();
    private static final SymbolLookup LIBRARY = NativeLibrary.load(FILE);
    static final Convention CONVENTION = Convention.of(LIBRARY, FILE);

    private static final Linker LINKER = Linker.nativeLinker();
    /** What a function's signature has for a handle, an address and a number. */
    private static final char HANDLE = 'h';

    private static final char ADDRESS = 'a';

    static final MethodHandle INITIALIZED = function("MPI_Initialized", "a");
    static final MethodHandle INIT_THREAD = function("MPI_Init_thread", "aaia");
    static final MethodHandle QUERY_THREAD = function("MPI_Query_thread", "a");
    static final MethodHandle IS_THREAD_MAIN = function("MPI_Is_thread_main", "a");
    static final MethodHandle FINALIZE = function("MPI_Finalize", "");
    static final MethodHandle ABORT = function("MPI_Abort", "hi");
    static final MethodHandle GET_PROCESSOR_NAME = function("MPI_Get_processor_name", "aa");
    static final MethodHandle GET_LIBRARY_VERSION = function("MPI_Get_library_version", "aa");
    static final MethodHandle ERROR_STRING = function("MPI_Error_string", "iaa");
    static final MethodHandle COMM_SET_ERRHANDLER = function("MPI_Comm_set_errhandler", "hh");
    static final MethodHandle COMM_RANK = function("MPI_Comm_rank", "ha");
    static final MethodHandle COMM_SIZE = function("MPI_Comm_size", "ha");
    static final MethodHandle COMM_DUP = function("MPI_Comm_dup", "ha");
    static final MethodHandle COMM_GROUP = function("MPI_Comm_group", "ha");
    static final MethodHandle GROUP_INCL = function("MPI_Group_incl", "hiaa");
    static final MethodHandle GROUP_FREE = function("MPI_Group_free", "a");
    static final MethodHandle COMM_CREATE_GROUP = function("MPI_Comm_create_group", "hhia");
    static final MethodHandle COMM_FREE = function("MPI_Comm_free", "a");
    static final MethodHandle IPROBE = function("MPI_Iprobe", "iihaa");
    static final MethodHandle ISEND = function("MPI_Isend", "aihiiha");
    static final MethodHandle IRECV = function("MPI_Irecv", "aihiiha");
    static final MethodHandle TEST = function("MPI_Test", "aaa");
    static final MethodHandle SEND = function("MPI_Send", "aihiih");
    static final MethodHandle RECV = function("MPI_Recv", "aihiiha");
    static final MethodHandle REDUCE_LOCAL = function("MPI_Reduce_local", "aaihh");
    static final MethodHandle ALLREDUCE = function("MPI_Allreduce", "aaihhh");
    static final MethodHandle BCAST = function("MPI_Bcast", "aihih");
    static final MethodHandle ALLGATHER = function("MPI_Allgather", "aihaihh");
    static final MethodHandle ALLGATHERV = function("MPI_Allgatherv", "aihaaahh");
    static final MethodHandle GATHERV = function("MPI_Gatherv", "aihaaahih");
    static final MethodHandle SCATTERV = function("MPI_Scatterv", "aaahaihih");
    static final MethodHandle ALLTOALL = function("MPI_Alltoall", "aihaihh");
    static final MethodHandle ALLTOALLV = function("MPI_Alltoallv", "aaahaaahh");

    private Functions() {}

    private static MethodHandle function(String name, String signature) {
        MemorySegment symbol = LIBRARY.find(name)
                .orElseThrow(() -> new HvdException(
                        ErrorId.INIT_FAILED, FILE + " does not export " + name + ": it is older than MPI 3.0"));
        MemoryLayout[] layouts = new MemoryLayout[signature.length()];
        Class<?>[] types = new Class<?>[signature.length()];
        for (int i = 0; i < layouts.length; i++) {
            boolean isHandle = signature.charAt(i) == HANDLE;
            boolean isLong = signature.charAt(i) == ADDRESS || isHandle && !CONVENTION.intHandles();
            layouts[i] = isLong ? ValueLayout.JAVA_LONG : ValueLayout.JAVA_INT;
            types[i] = isLong || isHandle ? long.class : int.class;
        }
        MethodHandle exact = LINKER.downcallHandle(symbol, FunctionDescriptor.of(ValueLayout.JAVA_INT, layouts));
        return MethodHandles.explicitCastArguments(exact, MethodType.methodType(int.class, types));
    }

    /**
     * The address of a direct buffer's first byte. To be called before {@link #run}, not within. The JIT inlines some 15 calls
     * deep, and ten of them lead to the address; unless it inlines all of them, the objects that are made on the way cost as
     * much as a short call of MPI.
     */
    static long address(ByteBuffer buffer) {
        return MemorySegment.ofBuffer(buffer).address() - buffer.position();
    }

    /** Numbers in memory that C reads. */
    static long numbers(Arena arena, int[] numbers) {
        return arena.allocateFrom(ValueLayout.JAVA_INT, numbers).address();
    }

    /** A call of MPI, which returns its error code. */
    interface Call {
        int run() throws Throwable;
    }

    /** @throws HvdException in MPI's words if the code is an error's */
    static void run(String function, Call call) {
        int code;
        try {
            code = call.run();
        } catch (Throwable e) {
            throw unexpected(function, e);
        }
        if (code != 0) {
            throw new HvdException(ErrorId.BACK_END, function + " failed: " + words(code));
        }
    }

    private static String words(int code) {
        return text("MPI_Error_string", (text, length) -> (int) ERROR_STRING.invokeExact(code, text, length));
    }

    /** A function that writes a text and its length. */
    interface Text {
        int write(long text, long length) throws Throwable;
    }

    /** The longest text of any MPI, its library's version. */
    private static final int MOST_TEXT = 8192;

    static String text(String function, Text text) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(MOST_TEXT + 1);
            MemorySegment length = arena.allocate(ValueLayout.JAVA_INT);
            int code = text.write(place.address(), length.address());
            // Not by run, which asks for the words of an error by this method.
            return code == 0 ? place.getString(0).strip() : function + " failed with code " + code;
        } catch (Throwable e) {
            throw unexpected(function, e);
        }
    }

    /** Calls of C throw nothing, so this is a defect of hvd's or an error of the JVM's. */
    static RuntimeException unexpected(String function, Throwable cause) {
        if (cause instanceof RuntimeException known) {
            return known;
        }
        if (cause instanceof Error error) {
            throw error;
        }
        return new IllegalStateException(function + " could not be called: " + cause, cause);
    }
}
