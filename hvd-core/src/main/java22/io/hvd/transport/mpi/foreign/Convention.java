package io.hvd.transport.mpi.foreign;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;

/**
 * What the header of an MPI library fixes at compile time: how it passes handles, and the values of its constants. Handles are
 * addresses or 32-bit numbers, and are kept as long here. Which convention a library has is told by the symbols that it
 * exports, since file names differ from system to system.
 *
 * @param intHandles whether handles are C's int, as in MPICH; else they are addresses
 * @param threadLevels the values of MPI_THREAD_SINGLE, FUNNELED, SERIALIZED and MULTIPLE
 */
record Convention(
        String name,
        boolean intHandles,
        long commWorld,
        long errorsReturn,
        long inPlace,
        long statusIgnore,
        int anySource,
        List<Integer> threadLevels,
        Types types,
        Operations operations) {

    /** The handles of data types. */
    record Types(long bytes, long float32, long float64, long int32, long int64, long uint8) {
        long of(DType type) {
            return switch (type) {
                case FLOAT32 -> float32;
                case FLOAT64 -> float64;
                case INT32 -> int32;
                case INT64 -> int64;
                case BOOL -> uint8;
                case INT8, UINT8, INT16, UINT16, FLOAT16, BFLOAT16 ->
                    throw new IllegalArgumentException("MPI is not asked to reduce " + type);
            };
        }
    }

    /** The handles of operations. */
    record Operations(long sum, long min, long max, long product) {
        long of(ReduceOp op) {
            return switch (op) {
                case SUM -> sum;
                case MIN -> min;
                case MAX -> max;
                case PRODUCT -> product;
                case AVERAGE, ADASUM -> throw new IllegalArgumentException("MPI has no operation for " + op);
            };
        }
    }

    /** An address of Open MPI's that its header names. */
    private static final String OPEN_MPI = "ompi_mpi_comm_world";
    /** A function that MPICH's header names, and those of all libraries that agree on its binary interface. */
    private static final String MPICH = "MPIR_Dup_fn";

    private static final List<Integer> ONE_BY_ONE = List.of(0, 1, 2, 3);

    /**
     * The convention of a library.
     *
     * @throws HvdException if it exports the symbols of none that hvd knows
     */
    static Convention of(SymbolLookup library, String file) {
        // First, because Open MPI's library of this kind leads to its other symbols too.
        if (hasStandardInterface(library)) {
            return STANDARD;
        }
        if (library.find(OPEN_MPI).isPresent()) {
            return openMpi(library);
        }
        if (library.find(MPICH).isPresent()) {
            return MPICH_FAMILY;
        }
        throw new HvdException(
                ErrorId.INIT_FAILED,
                file + " is no MPI library that hvd knows: it exports neither " + OPEN_MPI + " (Open MPI) nor " + MPICH
                        + " (MPICH, Intel MPI, Cray MPICH, MVAPICH), and has not the standard binary interface of MPI"
                        + " 5.0");
    }

    private static Convention openMpi(SymbolLookup library) {
        return new Convention(
                "Open MPI",
                false,
                address(library, OPEN_MPI),
                address(library, "ompi_mpi_errors_return"),
                1,
                0,
                -1,
                ONE_BY_ONE,
                new Types(
                        address(library, "ompi_mpi_byte"),
                        address(library, "ompi_mpi_float"),
                        address(library, "ompi_mpi_double"),
                        address(library, "ompi_mpi_int"),
                        address(library, "ompi_mpi_long"),
                        address(library, "ompi_mpi_unsigned_char")),
                new Operations(
                        address(library, "ompi_mpi_op_sum"),
                        address(library, "ompi_mpi_op_min"),
                        address(library, "ompi_mpi_op_max"),
                        address(library, "ompi_mpi_op_prod")));
    }

    private static long address(SymbolLookup library, String symbol) {
        return library.find(symbol)
                .orElseThrow(() -> new HvdException(
                        ErrorId.INIT_FAILED, "this Open MPI does not export " + symbol + ", which its header names"))
                .address();
    }

    private static final Convention MPICH_FAMILY = new Convention(
            "MPICH",
            true,
            0x44000000,
            0x54000001,
            -1,
            1,
            -2,
            ONE_BY_ONE,
            new Types(0x4c00010d, 0x4c00040a, 0x4c00080b, 0x4c000405, 0x4c000807, 0x4c000102),
            new Operations(0x58000003, 0x58000002, 0x58000001, 0x58000004));

    /** MPI-5.0, appendix A.1, with the values of its binary interface. */
    private static final Convention STANDARD = new Convention(
            "MPI 5.0's binary interface",
            false,
            0x101,
            0x143,
            1,
            0,
            -1,
            List.of(0, 1024, 2048, 4096),
            new Types(0x247, 0x210, 0x214, 0x250, 0x258, 0x241),
            new Operations(0x21, 0x22, 0x23, 0x24));

    /** MPI_Abi_get_version may be called before MPI_Init, and gives -1 where the library has another interface. */
    private static boolean hasStandardInterface(SymbolLookup library) {
        Optional<MemorySegment> function = library.find("MPI_Abi_get_version");
        if (function.isEmpty()) {
            return false;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment version = arena.allocate(ValueLayout.JAVA_INT, 2);
            var call = Linker.nativeLinker()
                    .downcallHandle(
                            function.get(),
                            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS));
            int code = (int) call.invokeExact(version, version.asSlice(Integer.BYTES));
            return code == 0 && version.get(ValueLayout.JAVA_INT, 0) > 0;
        } catch (Throwable e) {
            throw Functions.unexpected("MPI_Abi_get_version", e);
        }
    }
}
