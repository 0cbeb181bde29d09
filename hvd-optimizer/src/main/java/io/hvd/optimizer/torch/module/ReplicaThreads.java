package io.hvd.optimizer.torch.module;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.natives.NativeLibraries;
import io.hvd.tensor.Device;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.bytedeco.pytorch.OptionalDeviceGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.ThreadLocalState;
import org.bytedeco.pytorch.ThreadLocalStateGuard;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;

/**
 * One thread for each device of a {@code DataParallel}. What LibTorch keeps for a thread, such as whether gradients are wanted, is
 * the caller's while they work for it.
 */
public final class ReplicaThreads implements AutoCloseable {
    private final List<Device> devices;
    private final Supplier<Setting> ofCaller;
    private final List<ExecutorService> executors = new ArrayList<>();
    private final Set<Thread> own = new HashSet<>();
    /** The number of threads within an operation that the devices share. */
    private int shared;

    private volatile boolean closed;

    /** @param ofCaller what the devices' threads take over, asked for on the thread that they work for */
    public ReplicaThreads(List<Device> devices, Supplier<Setting> ofCaller) {
        this.devices = devices;
        this.ofCaller = ofCaller;
        for (int i = 0; i < devices.size(); i++) {
            String name = "hvd-replica-" + i + "-" + devices.get(i);
            executors.add(Executors.newSingleThreadExecutor(task -> {
                Thread thread = new Thread(task, name);
                thread.setDaemon(true);
                own.add(thread);
                return thread;
            }));
        }
        shareCores();
    }

    /** @throws HvdException if there is no device, a GPU is named twice, or one is not there */
    public static void requireUsable(List<Device> devices) {
        if (devices.isEmpty()) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "DataParallel: no device, expected at least one");
        }
        Set<Device> gpus = new HashSet<>();
        for (Device device : devices) {
            if (!device.isCpu()) {
                requireGpu(device);
                if (!gpus.add(device)) {
                    throw new HvdException(
                            ErrorId.BAD_ARGUMENT,
                            "DataParallel: " + device + " occurs twice in " + devices + ", expected each GPU once");
                }
            }
        }
    }

    private static void requireGpu(Device device) {
        NativeLibraries.whyNoGpu().ifPresent(why -> {
            throw new HvdException(ErrorId.NO_DEVICE, "DataParallel: " + device + " cannot be used: " + why);
        });
        if (device.index() >= torch.cuda_device_count()) {
            throw new HvdException(
                    ErrorId.NO_DEVICE,
                    "DataParallel: there is no " + device + ", LibTorch sees " + torch.cuda_device_count() + " GPU(s)");
        }
    }

    /**
     * Gives each of several threads on the CPU its share of the threads that LibTorch uses within an operation on the calling
     * thread, if these have changed. OpenMP keeps that number for each thread, but LibTorch also remembers the last one for
     * threads to come, so the caller's is set again.
     */
    public void shareCores() {
        int all = torch.get_num_threads();
        if (!devices.get(0).isCpu() || all == shared) {
            return;
        }
        int each = Math.max(1, all / devices.size());
        run(devices.size(), "setting the number of threads of", i -> {
            torch.get_num_threads(); // LibTorch sets a thread up when it is first asked
            torch.set_num_threads(each);
            return List.of();
        });
        torch.set_num_threads(all);
        shared = all;
    }

    /** @throws HvdException after close, or on one of these threads, which would wait for itself */
    public void requireOpen() {
        if (closed) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "DataParallel: forward after close()");
        }
        if (own.contains(Thread.currentThread())) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "DataParallel: forward inside of its own forward, on "
                            + Thread.currentThread().getName() + ": a replica's module computes its part only");
        }
    }

    /** A setting of the calling thread that LibTorch's state of a thread does not hold. */
    @FunctionalInterface
    public interface Setting {
        /** Makes it that of the current thread, which works for a device, until it is closed. */
        AutoCloseable begin(Device device);
    }

    /** What a thread does for its device. */
    @FunctionalInterface
    public interface Work {
        List<Tensor> on(int replica);
    }

    public List<List<Tensor>> run(int count, String doing, Work work) {
        return run(count, i -> doing, work);
    }

    /**
     * Has the first threads work side by side, and waits for all of them.
     *
     * @param doing words for what a thread does, which go before its device in the message of a failure
     * @return what they gave, in the order of the devices
     * @throws HvdException if one of them has thrown anything; the failures of others are suppressed in it
     */
    public List<List<Tensor>> run(int count, IntFunction<String> doing, Work work) {
        ThreadLocalState state = new ThreadLocalState();
        Setting setting = ofCaller.get();
        List<Future<List<Tensor>>> futures = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int replica = i;
            Callable<List<Tensor>> task = () -> as(state, setting, replica, work);
            futures.add(executors.get(i).submit(task));
        }
        List<List<Tensor>> results = new ArrayList<>();
        HvdException failure = null;
        for (int i = 0; i < count; i++) {
            try {
                results.add(await(futures.get(i)));
            } catch (ExecutionException e) {
                failure = joined(failure, failed(i, doing.apply(i), e.getCause()));
            }
        }
        state.close();
        if (failure != null) {
            results.forEach(result -> result.forEach(Tensor::close));
            throw failure;
        }
        return results;
    }

    private List<Tensor> as(ThreadLocalState state, Setting setting, int replica, Work work) {
        try (ThreadLocalStateGuard guard = new ThreadLocalStateGuard(state);
                OptionalDeviceGuard device = current(devices.get(replica));
                AutoCloseable begun = setting.begin(devices.get(replica))) {
            return work.on(replica);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) { // declared by AutoCloseable alone
            throw new IllegalStateException(e);
        }
    }

    private static OptionalDeviceGuard current(Device device) {
        return device.isCpu()
                ? new OptionalDeviceGuard()
                : new OptionalDeviceGuard(new org.bytedeco.pytorch.Device(DeviceType.CUDA, (byte) device.index()));
    }

    /** Waits until the thread has ended its work, also where this thread is interrupted: the work uses the caller's tensors. */
    private static <T> T await(Future<T> future) throws ExecutionException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return future.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private HvdException failed(int replica, String doing, Throwable cause) {
        return new HvdException(
                ErrorId.REPLICA_FAILED,
                "DataParallel: replica " + replica + " of " + devices.size() + ", " + doing + " " + devices.get(replica)
                        + ", failed: " + cause,
                cause);
    }

    private static HvdException joined(HvdException first, HvdException next) {
        if (first == null) {
            return next;
        }
        first.addSuppressed(next);
        return first;
    }

    @Override
    public void close() {
        closed = true;
        executors.forEach(ExecutorService::shutdown);
    }
}
