package io.hvd.cuda;

import static io.hvd.cuda.DriverCode.check;
import static jcuda.driver.JCudaDriver.cuCtxSetCurrent;
import static jcuda.driver.JCudaDriver.cuDeviceGet;
import static jcuda.driver.JCudaDriver.cuDeviceGetAttribute;
import static jcuda.driver.JCudaDriver.cuDevicePrimaryCtxRelease;
import static jcuda.driver.JCudaDriver.cuDevicePrimaryCtxRetain;
import static jcuda.driver.JCudaDriver.cuDriverGetVersion;
import static jcuda.driver.JCudaDriver.cuEventCreate;
import static jcuda.driver.JCudaDriver.cuEventDestroy;
import static jcuda.driver.JCudaDriver.cuEventElapsedTime;
import static jcuda.driver.JCudaDriver.cuEventQuery;
import static jcuda.driver.JCudaDriver.cuEventRecord;
import static jcuda.driver.JCudaDriver.cuEventSynchronize;
import static jcuda.driver.JCudaDriver.cuInit;
import static jcuda.driver.JCudaDriver.cuLaunchKernel;
import static jcuda.driver.JCudaDriver.cuMemAlloc;
import static jcuda.driver.JCudaDriver.cuMemAllocHost;
import static jcuda.driver.JCudaDriver.cuMemFree;
import static jcuda.driver.JCudaDriver.cuMemFreeHost;
import static jcuda.driver.JCudaDriver.cuMemcpyDtoHAsync;
import static jcuda.driver.JCudaDriver.cuMemcpyHtoDAsync;
import static jcuda.driver.JCudaDriver.cuMemsetD16Async;
import static jcuda.driver.JCudaDriver.cuMemsetD2D32Async;
import static jcuda.driver.JCudaDriver.cuMemsetD32Async;
import static jcuda.driver.JCudaDriver.cuMemsetD8Async;
import static jcuda.driver.JCudaDriver.cuModuleGetFunction;
import static jcuda.driver.JCudaDriver.cuModuleLoadData;
import static jcuda.driver.JCudaDriver.cuModuleUnload;
import static jcuda.driver.JCudaDriver.cuStreamCreate;
import static jcuda.driver.JCudaDriver.cuStreamDestroy;
import static jcuda.driver.JCudaDriver.cuStreamSynchronize;
import static jcuda.driver.JCudaDriver.cuStreamWaitEvent;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;

/** The installed CUDA driver, called through JCuda, in a GPU's primary context, which the CUDA runtime uses too. */
final class InstalledCuda implements CudaCalls {
    private final NativeHandle handles;
    private final CUdevice device;
    private final CUcontext context;
    private final int multiprocessors;
    /** The arguments of a launch, each at a multiple of 8 bytes; the driver copies them before a launch returns. */
    private final ByteBuffer arguments = BufferLedger.PROCESS.direct(Owner.GPU_BATCHES, 5 * 8);

    private final Pointer argumentPointers = Pointer.to(Arrays.stream(new int[] {0, 8, 16, 24, 32})
            .mapToObj(at -> Pointer.to(arguments).withByteOffset(at))
            .toArray(NativePointerObject[]::new));

    private InstalledCuda(NativeHandle handles, CUdevice device, CUcontext context) {
        this.handles = handles;
        this.device = device;
        this.context = context;
        enter();
        this.multiprocessors = attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    }

    /**
     * Makes the GPU's primary context current on this thread. JCuda's libraries must be loaded.
     *
     * @throws LinkageError if JCuda's driver interface is not usable
     */
    static InstalledCuda open(int index) {
        NativeHandle handles = new NativeHandle();
        check("cuInit", () -> cuInit(0));
        CUdevice device = new CUdevice();
        check("cuDeviceGet(" + index + ")", () -> cuDeviceGet(device, index));
        CUcontext context = new CUcontext();
        check("cuDevicePrimaryCtxRetain", () -> cuDevicePrimaryCtxRetain(context, device));
        return new InstalledCuda(handles, device, context);
    }

    @Override
    public void enter() {
        check("cuCtxSetCurrent", () -> cuCtxSetCurrent(context));
    }

    @Override
    public int driverVersion() {
        int[] version = new int[1];
        check("cuDriverGetVersion", () -> cuDriverGetVersion(version));
        return version[0];
    }

    @Override
    public int computeCapability() {
        return 10 * attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
                + attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    }

    @Override
    public int multiprocessors() {
        return multiprocessors;
    }

    @Override
    public long allocate(long bytes) {
        CUdeviceptr pointer = new CUdeviceptr();
        check("cuMemAlloc of " + bytes + " bytes", () -> cuMemAlloc(pointer, bytes));
        return handles.number(pointer);
    }

    @Override
    public void free(long address) {
        check("cuMemFree", () -> cuMemFree(memory(address)));
    }

    @Override
    public ByteBuffer allocatePinned(int bytes) {
        Pointer pointer = new Pointer();
        check("cuMemAllocHost of " + bytes + " bytes", () -> cuMemAllocHost(pointer, bytes));
        return pointer.getByteBuffer(0, bytes).order(ByteOrder.nativeOrder());
    }

    @Override
    public void freePinned(ByteBuffer buffer) {
        check("cuMemFreeHost", () -> cuMemFreeHost(Pointer.to(buffer)));
    }

    @Override
    public void copyToDevice(long to, ByteBuffer from, int at, int bytes, long stream) {
        check("cuMemcpyHtoDAsync", () -> cuMemcpyHtoDAsync(memory(to), part(from, at, bytes), bytes, stream(stream)));
    }

    @Override
    public void copyToHost(ByteBuffer to, int at, long from, int bytes, long stream) {
        check("cuMemcpyDtoHAsync", () -> cuMemcpyDtoHAsync(part(to, at, bytes), memory(from), bytes, stream(stream)));
    }

    @Override
    public void clear(long address, long bytes, long stream) {
        check("cuMemsetD8Async", () -> cuMemsetD8Async(memory(address), (byte) 0, bytes, stream(stream)));
    }

    /** CUDA has no call for elements of 8 bytes: each half of them is a column, 4 bytes wide, of a matrix. */
    @Override
    public void fill(long address, long value, int width, long elements, long stream) {
        CUdeviceptr start = memory(address);
        CUstream queue = stream(stream);
        switch (width) {
            case 1 -> check("cuMemsetD8Async", () -> cuMemsetD8Async(start, (byte) value, elements, queue));
            case 2 -> check("cuMemsetD16Async", () -> cuMemsetD16Async(start, (short) value, elements, queue));
            case 4 -> check("cuMemsetD32Async", () -> cuMemsetD32Async(start, (int) value, elements, queue));
            case 8 -> {
                check("cuMemsetD2D32Async", () -> cuMemsetD2D32Async(start, 8, (int) value, 1, elements, queue));
                check(
                        "cuMemsetD2D32Async",
                        () -> cuMemsetD2D32Async(memory(address + 4), 8, (int) (value >>> 32), 1, elements, queue));
            }
            default -> throw new IllegalArgumentException("elements of " + width + " bytes");
        }
    }

    @Override
    public long createStream() {
        CUstream stream = new CUstream();
        check("cuStreamCreate", () -> cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING));
        return handles.number(stream);
    }

    @Override
    public void destroyStream(long stream) {
        check("cuStreamDestroy", () -> cuStreamDestroy(stream(stream)));
    }

    @Override
    public void awaitStream(long stream) {
        check("cuStreamSynchronize", () -> cuStreamSynchronize(stream(stream)));
    }

    @Override
    public long createEvent() {
        return createEvent(CUevent_flags.CU_EVENT_DISABLE_TIMING);
    }

    @Override
    public long createTimedEvent() {
        return createEvent(CUevent_flags.CU_EVENT_DEFAULT);
    }

    private long createEvent(int flags) {
        CUevent event = new CUevent();
        check("cuEventCreate", () -> cuEventCreate(event, flags));
        return handles.number(event);
    }

    @Override
    public void destroyEvent(long event) {
        check("cuEventDestroy", () -> cuEventDestroy(event(event)));
    }

    @Override
    public void recordEvent(long event, long stream) {
        check("cuEventRecord", () -> cuEventRecord(event(event), stream(stream)));
    }

    @Override
    public void holdUntil(long stream, long event) {
        check("cuStreamWaitEvent", () -> cuStreamWaitEvent(stream(stream), event(event), 0));
    }

    @Override
    public void awaitEvent(long event) {
        check("cuEventSynchronize", () -> cuEventSynchronize(event(event)));
    }

    @Override
    public boolean isReached(long event) {
        int code = DriverCode.of(() -> cuEventQuery(event(event)));
        if (code != CUresult.CUDA_ERROR_NOT_READY) {
            check("cuEventQuery", code);
        }
        return code == CUresult.CUDA_SUCCESS;
    }

    @Override
    public float millisBetween(long earlier, long later) {
        float[] millis = new float[1];
        check("cuEventElapsedTime", () -> cuEventElapsedTime(millis, event(earlier), event(later)));
        return millis[0];
    }

    @Override
    public long context() {
        return handles.number(context);
    }

    @Override
    public long loadModule(String ptx) {
        CUmodule module = new CUmodule();
        check("cuModuleLoadData of hvd's kernels", () -> cuModuleLoadData(module, ptx));
        return handles.number(module);
    }

    @Override
    public void unloadModule(long module) {
        check("cuModuleUnload", () -> cuModuleUnload(module(module)));
    }

    @Override
    public long function(long module, String entry) {
        CUfunction function = new CUfunction();
        check("cuModuleGetFunction(" + entry + ")", () -> cuModuleGetFunction(function, module(module), entry));
        return handles.number(function);
    }

    @Override
    public void launch(long function, Grid grid, Arguments given, long stream) {
        arguments.putLong(0, given.table());
        arguments.putInt(8, given.rows());
        arguments.putLong(16, given.tiles());
        arguments.putDouble(24, given.scale());
        arguments.putLong(32, given.nonFinite());
        CUfunction kernel = handles.at(function, new CUfunction());
        CUstream queue = stream(stream);
        check(
                "cuLaunchKernel",
                () -> cuLaunchKernel(
                        kernel, grid.blocks(), 1, 1, grid.threads(), 1, 1, 0, queue, argumentPointers, null));
    }

    @Override
    public void close() {
        check("cuDevicePrimaryCtxRelease", () -> cuDevicePrimaryCtxRelease(device));
    }

    private int attribute(int which) {
        int[] value = new int[1];
        check("cuDeviceGetAttribute(" + which + ")", () -> cuDeviceGetAttribute(value, which, device));
        return value[0];
    }

    private CUdeviceptr memory(long address) {
        return handles.at(address, new CUdeviceptr());
    }

    private CUstream stream(long handle) {
        return handles.at(handle, new CUstream());
    }

    private CUevent event(long handle) {
        return handles.at(handle, new CUevent());
    }

    private CUmodule module(long handle) {
        return handles.at(handle, new CUmodule());
    }

    private static Pointer part(ByteBuffer buffer, int at, int bytes) {
        Objects.checkFromIndexSize(at, bytes, buffer.capacity());
        return Pointer.to(buffer).withByteOffset(at);
    }
}
