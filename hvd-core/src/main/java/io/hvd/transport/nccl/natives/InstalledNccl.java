package io.hvd.transport.nccl.natives;

import static org.bytedeco.cuda.global.cudart.cuCtxRecordEvent;
import static org.bytedeco.cuda.global.cudart.cudaDriverGetVersion;
import static org.bytedeco.cuda.global.cudart.cudaGetErrorString;
import static org.bytedeco.cuda.global.cudart.cudaRuntimeGetVersion;
import static org.bytedeco.cuda.global.cudart.cudaSetDevice;
import static org.bytedeco.cuda.global.nccl.ncclAllGather;
import static org.bytedeco.cuda.global.nccl.ncclAllReduce;
import static org.bytedeco.cuda.global.nccl.ncclBroadcast;
import static org.bytedeco.cuda.global.nccl.ncclCommAbort;
import static org.bytedeco.cuda.global.nccl.ncclCommDestroy;
import static org.bytedeco.cuda.global.nccl.ncclCommGetAsyncError;
import static org.bytedeco.cuda.global.nccl.ncclCommInitRank;
import static org.bytedeco.cuda.global.nccl.ncclGetErrorString;
import static org.bytedeco.cuda.global.nccl.ncclGetUniqueId;
import static org.bytedeco.cuda.global.nccl.ncclGetVersion;
import static org.bytedeco.cuda.global.nccl.ncclGroupEnd;
import static org.bytedeco.cuda.global.nccl.ncclGroupStart;
import static org.bytedeco.cuda.global.nccl.ncclRecv;
import static org.bytedeco.cuda.global.nccl.ncclRedOpCreatePreMulSum;
import static org.bytedeco.cuda.global.nccl.ncclRedOpDestroy;
import static org.bytedeco.cuda.global.nccl.ncclReduce;
import static org.bytedeco.cuda.global.nccl.ncclReduceScatter;
import static org.bytedeco.cuda.global.nccl.ncclSend;

import io.hvd.cuda.CudaVersions;
import io.hvd.cuda.DriverCode;
import io.hvd.cuda.LibraryCache;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.bytedeco.cuda.cudart.CUctx_st;
import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.cuda.global.nccl;
import org.bytedeco.cuda.nccl.ncclComm;
import org.bytedeco.cuda.nccl.ncclUniqueId;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.Pointer;

/**
 * The installed NCCL and CUDA runtime, called through JavaCPP. Besides the driver, the loader must find libnccl.so.2
 * and the libcudart.so that JavaCPP's presets are made for.
 */
final class InstalledNccl implements NcclCalls {
    /** The oldest version of NCCL that has all functions that this class calls. */
    private static final int OLDEST = 21800;

    private final int version;

    private InstalledNccl(int version) {
        this.version = version;
    }

    /**
     * Loads NCCL. Throws LinkageError if JavaCPP, its presets, the CUDA runtime or NCCL is missing, and HvdException if
     * one of them is too old, or too new for the driver.
     */
    static InstalledNccl load() {
        unpack();
        Loader.load(nccl.class);
        requireDriver();
        int[] version = new int[1];
        check("ncclGetVersion", ncclGetVersion(version));
        if (version[0] < OLDEST) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "NCCL " + NcclCodes.version(version[0]) + " is installed, hvd needs " + NcclCodes.version(OLDEST)
                            + " or newer");
        }
        return new InstalledNccl(version[0]);
    }

    /**
     * Checks the driver before the other ranks hear of this rank's NCCL. Without this check, the first call that needs
     * the driver would end the job.
     */
    private static void requireDriver() {
        int[] driver = new int[1];
        int[] runtime = new int[1];
        checkCuda("cudaDriverGetVersion", cudaDriverGetVersion(driver));
        checkCuda("cudaRuntimeGetVersion", cudaRuntimeGetVersion(runtime));
        new CudaVersions(driver[0], runtime[0]).obstacle().ifPresent(why -> {
            throw new HvdException(ErrorId.UNSUPPORTED, why);
        });
    }

    /**
     * Unpacks all libraries first. Otherwise JavaCPP loads one library while another process still unpacks the one
     * beside it.
     */
    private static void unpack() {
        try {
            LibraryCache.ofThisUser().alone("javacpp", () -> {
                Loader.cacheResources("/org/bytedeco/javacpp/" + Loader.getPlatform());
                Loader.cacheResources("/org/bytedeco/cuda/" + Loader.getPlatform());
            });
        } catch (IOException e) {
            throw new UncheckedIOException("unpacking JavaCPP's libraries", e);
        }
    }

    @Override
    public int versionCode() {
        return version;
    }

    @Override
    public String version() {
        return NcclCodes.version(version);
    }

    @Override
    public void selectDevice(int index) {
        checkCuda("cudaSetDevice(" + index + ")", cudaSetDevice(index));
    }

    @Override
    public void recordAfterAllWork(long context, long event) {
        recordAll(context, event);
    }

    /** Needs JavaCPP's binding and the CUDA runtime, but not NCCL itself. */
    static void recordAll(long context, long event) {
        DriverCode.check(
                "cuCtxRecordEvent",
                cuCtxRecordEvent(new CUctx_st(new Address(context)), new CUevent_st(new Address(event))));
    }

    @Override
    public byte[] uniqueId() {
        try (ncclUniqueId id = new ncclUniqueId()) {
            check("ncclGetUniqueId", ncclGetUniqueId(id));
            byte[] bytes = new byte[nccl.NCCL_UNIQUE_ID_BYTES];
            new BytePointer(id).get(bytes);
            return bytes;
        }
    }

    @Override
    public long join(byte[] uniqueId, int size, int rank) {
        try (ncclUniqueId id = new ncclUniqueId()) {
            new BytePointer(id).put(uniqueId);
            ncclComm communicator = new ncclComm();
            check("ncclCommInitRank", ncclCommInitRank(communicator, size, id, rank));
            return communicator.address();
        }
    }

    @Override
    public void leave(long communicator) {
        check("ncclCommDestroy", ncclCommDestroy(communicator(communicator)));
    }

    @Override
    public void abort(long communicator) {
        check("ncclCommAbort", ncclCommAbort(communicator(communicator)));
    }

    @Override
    public void requireSound(long communicator) {
        int[] state = new int[1];
        check("ncclCommGetAsyncError", ncclCommGetAsyncError(communicator(communicator), state));
        if (state[0] != nccl.ncclInProgress) {
            check("a collective of NCCL", state[0]);
        }
    }

    @Override
    public void groupStart() {
        check("ncclGroupStart", ncclGroupStart());
    }

    @Override
    public void groupEnd() {
        check("ncclGroupEnd", ncclGroupEnd());
    }

    @Override
    public int operator(ReduceOp op) {
        return NcclCodes.operator(op);
    }

    @Override
    public int average() {
        return nccl.ncclAvg;
    }

    @Override
    public int createScaledSum(double factor, DType type, long communicator) {
        int[] operator = new int[1];
        try (BytePointer scalar = new BytePointer(NcclCodes.scalar(factor, type))) {
            check(
                    "ncclRedOpCreatePreMulSum",
                    ncclRedOpCreatePreMulSum(
                            operator,
                            scalar,
                            NcclCodes.type(type),
                            nccl.ncclScalarHostImmediate,
                            communicator(communicator)));
        }
        return operator[0];
    }

    @Override
    public void destroyOperator(int operator, long communicator) {
        check("ncclRedOpDestroy", ncclRedOpDestroy(operator, communicator(communicator)));
    }

    @Override
    public void allReduce(long from, long to, long count, DType type, int operator, long communicator, long stream) {
        check(
                "ncclAllReduce",
                ncclAllReduce(
                        new Address(from),
                        new Address(to),
                        count,
                        NcclCodes.type(type),
                        operator,
                        communicator(communicator),
                        stream(stream)));
    }

    @Override
    public void reduce(
            long from, long to, long count, DType type, int operator, int root, long communicator, long stream) {
        check(
                "ncclReduce",
                ncclReduce(
                        new Address(from),
                        new Address(to),
                        count,
                        NcclCodes.type(type),
                        operator,
                        root,
                        communicator(communicator),
                        stream(stream)));
    }

    @Override
    public void reduceScatter(
            long from, long to, long count, DType type, int operator, long communicator, long stream) {
        check(
                "ncclReduceScatter",
                ncclReduceScatter(
                        new Address(from),
                        new Address(to),
                        count,
                        NcclCodes.type(type),
                        operator,
                        communicator(communicator),
                        stream(stream)));
    }

    @Override
    public void broadcast(long from, long to, long bytes, int root, long communicator, long stream) {
        check(
                "ncclBroadcast",
                ncclBroadcast(
                        new Address(from),
                        new Address(to),
                        bytes,
                        nccl.ncclUint8,
                        root,
                        communicator(communicator),
                        stream(stream)));
    }

    @Override
    public void allGather(long from, long to, long bytes, long communicator, long stream) {
        check(
                "ncclAllGather",
                ncclAllGather(
                        new Address(from),
                        new Address(to),
                        bytes,
                        nccl.ncclUint8,
                        communicator(communicator),
                        stream(stream)));
    }

    @Override
    public void send(long from, long bytes, int to, long communicator, long stream) {
        check(
                "ncclSend",
                ncclSend(new Address(from), bytes, nccl.ncclUint8, to, communicator(communicator), stream(stream)));
    }

    @Override
    public void receive(long to, long bytes, int from, long communicator, long stream) {
        check(
                "ncclRecv",
                ncclRecv(new Address(to), bytes, nccl.ncclUint8, from, communicator(communicator), stream(stream)));
    }

    private static ncclComm communicator(long handle) {
        return new ncclComm(new Address(handle));
    }

    private static CUstream_st stream(long handle) {
        return new CUstream_st(new Address(handle));
    }

    private static void checkCuda(String call, int code) {
        if (code != cudart.cudaSuccess) {
            throw new HvdException(
                    ErrorId.BACK_END,
                    call + " failed: " + cudaGetErrorString(code).getString() + " (" + code + ")");
        }
    }

    private static void check(String call, int code) {
        if (code != nccl.ncclSuccess) {
            throw new HvdException(
                    ErrorId.BACK_END,
                    call + " failed: " + ncclGetErrorString(code).getString() + " (" + code
                            + "); NCCL_DEBUG=WARN in the environment makes NCCL say more");
        }
    }

    /** An address that comes from another library, as a JavaCPP pointer that owns no memory. */
    private static final class Address extends Pointer {
        Address(long address) {
            this.address = address;
        }
    }
}
