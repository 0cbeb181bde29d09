package io.hvd.benchmarks.rank;

import static org.bytedeco.pytorch.global.torch.from_blob;

import io.hvd.spi.StartupHook;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ServiceLoader;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.BackendOptional;
import org.bytedeco.pytorch.FileStore;
import org.bytedeco.pytorch.GlooDeviceVector;
import org.bytedeco.pytorch.ProcessGroup;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch_gloo;

/** LibTorch's process group over Gloo. */
final class Gloo implements AutoCloseable {
    /**
     * The store as its Java object owns it. Gloo gets {@link #store}, which counts its references; this one would be
     * freed twice.
     */
    private final Store ownStore;

    private final Store store;
    private final ProcessGroupGloo group;

    private Gloo(Store ownStore, Store store, int rank, int size, ProcessGroupGloo.Options options) {
        this.ownStore = ownStore;
        this.store = store;
        this.group = new ProcessGroupGloo(store, rank, size, options);
    }

    /** The ranks of this host, which find each other through a file. @param folder the same for all ranks of one job */
    static Gloo onOneHost(Path folder, int rank, int size) {
        load();
        FileStore file = new FileStore(folder.resolve("gloo").toString(), size);
        return new Gloo(file, file.clone(), rank, size, ProcessGroupGloo.Options.create_default());
    }

    /**
     * Ranks of several hosts.
     *
     * @param meeting where rank 0 has LibTorch's store, at a free port
     * @param here this rank's address for the others
     */
    static Gloo between(InetSocketAddress meeting, InetAddress here, int rank, int size) {
        load();
        TCPStoreOptions server = new TCPStoreOptions()
                .port((short) meeting.getPort())
                .isServer(rank == 0)
                .waitWorkers(false);
        TCPStore met = new TCPStore(meeting.getAddress().getHostAddress(), server);
        var device = ProcessGroupGloo.createDeviceForHostname(here.getHostAddress());
        ProcessGroupGloo.Options options = ProcessGroupGloo.Options.create().devices(new GlooDeviceVector(device));
        return new Gloo(met, met.clone(), rank, size, options);
    }

    private static void load() {
        ServiceLoader.load(StartupHook.class).forEach(StartupHook::beforeInit);
        Loader.load(torch_gloo.class);
    }

    /** A name with LibTorch's version, because Gloo has no version of its own. */
    static String version() {
        return "gloo-" + torchVersion();
    }

    /** LibTorch's name and version, such as {@code torch-2.10.0}. */
    static String torchVersion() {
        String jar =
                Tensor.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        return jar.replaceFirst(".*/pytorch-([\\d.]+)-[^/]*", "torch-$1");
    }

    /** A call that sums the first floats of a direct buffer in place. */
    Runnable summing(ByteBuffer floats, int count) {
        Tensor tensor = from_blob(new FloatPointer(floats.asFloatBuffer()), count);
        return () -> sum(tensor);
    }

    /** Sums in place, and waits for the result. */
    void sum(Tensor tensor) {
        try (TensorVector one = new TensorVector(tensor)) {
            await(start(one));
        }
    }

    Work start(TensorVector one) {
        return group.allreduce(one);
    }

    Work startCoalesced(TensorVector all) {
        return group.allreduce_coalesced(all);
    }

    static void await(Work work) {
        try (work) {
            work._wait();
        }
    }

    /** The process group in the form that the reducer of DistributedDataParallel needs. */
    ProcessGroup asDefault(int rank, int size) {
        ProcessGroup world = new ProcessGroup(rank, size);
        try (BackendOptional backend = new BackendOptional(group)) {
            world.setBackend(DeviceType.CPU, ProcessGroup.BackendType.GLOO, backend);
        }
        world.setDefaultBackend(ProcessGroup.BackendType.GLOO);
        return world;
    }

    void meet() {
        await(group.barrier());
    }

    /** Waits for the other ranks first, so that no rank closes a connection that another rank still uses. */
    @Override
    public void close() {
        meet();
        group.close();
        store.close();
        ownStore.close();
    }
}
