package io.hvd.optimizer.torch;

import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.BackendOptional;
import org.bytedeco.pytorch.BoolVector;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.ProcessGroup;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.Reducer;
import org.bytedeco.pytorch.SizeTStringMap;
import org.bytedeco.pytorch.SizeTVector;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch_gloo;

/**
 * LibTorch's DistributedDataParallel over Gloo, put together from its parts: a second opinion on what
 * averaged gradients are. All ranks are on this host.
 */
final class DdpReducer implements AutoCloseable {
    private static final String HOST = "127.0.0.1";

    /** Small, so that the net fills several buckets. */
    private static final long BUCKET_BYTES = 8 << 10;

    private static final long FIRST_BUCKET_BYTES = 1 << 10;

    /** Belongs to its Java object alone, while {@link #store} is counted: handed to Gloo, this one would be freed twice. */
    private final TCPStore ownStore;

    private final Store store;
    private final ProcessGroupGloo gloo;
    private final ProcessGroup group;
    private final Reducer reducer;

    DdpReducer(HvdContext hvd, TensorVector parameters) {
        Loader.load(torch_gloo.class);
        this.ownStore = meet(hvd);
        this.store = ownStore.clone();
        this.gloo = new ProcessGroupGloo(store, hvd.rank(), hvd.size(), ProcessGroupGloo.Options.create_default());
        this.group = new ProcessGroup(hvd.rank(), hvd.size());
        try (BackendOptional backend = new BackendOptional(gloo)) {
            group.setBackend(DeviceType.CPU, ProcessGroup.BackendType.GLOO, backend);
        }
        group.setDefaultBackend(ProcessGroup.BackendType.GLOO);
        this.reducer = reducer(parameters, group);
    }

    private static Reducer reducer(TensorVector parameters, ProcessGroup group) {
        SizeTVector limits = new SizeTVector(FIRST_BUCKET_BYTES, BUCKET_BYTES);
        try (var assignment = torch.compute_bucket_assignment_by_size(parameters, limits)) {
            return new Reducer(
                    parameters,
                    assignment.get0(),
                    group,
                    noneIsSparse(parameters.size()),
                    BUCKET_BYTES,
                    false,
                    false,
                    new SizeTStringMap(),
                    FIRST_BUCKET_BYTES,
                    false,
                    false,
                    new LongVector(FIRST_BUCKET_BYTES, BUCKET_BYTES));
        }
    }

    void beforeForward() {
        reducer.prepare_for_forward();
    }

    /** From here on the hooks of the reducer average what backward computes; backward ends when they have. */
    void beforeBackward() {
        reducer.prepare_for_backward(new TensorVector());
    }

    /**
     * The other way round than they were made, and no rank takes the store away while another uses it.
     * Nothing is left for the garbage collector, which would end Gloo's threads at any time, or while the JVM exits.
     */
    @Override
    public void close() {
        try (Work barrier = gloo.barrier()) {
            barrier._wait();
        }
        reducer.close();
        group.close();
        gloo.close();
        store.close();
        ownStore.close();
    }

    /** Rank 0 serves on a port that the system picks, and hvd tells the others which. */
    private static TCPStore meet(HvdContext hvd) {
        TCPStore server = hvd.rank() == 0 ? new TCPStore(HOST, options(true, (short) 0)) : null;
        long mine = server == null ? 0 : Short.toUnsignedLong(server.getPort());
        long[] port = (long[]) hvd.broadcast("ddp.port", Tensor.of(mine), 0).toArray();
        return server != null ? server : new TCPStore(HOST, options(false, (short) port[0]));
    }

    private static TCPStoreOptions options(boolean server, short port) {
        return new TCPStoreOptions().isServer(server).port(port).waitWorkers(false);
    }

    private static BoolVector noneIsSparse(long count) {
        BoolVector answers = new BoolVector();
        for (long i = 0; i < count; i++) {
            answers.push_back(false);
        }
        return answers;
    }
}
