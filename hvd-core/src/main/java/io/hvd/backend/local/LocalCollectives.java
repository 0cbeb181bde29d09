package io.hvd.backend.local;

import io.hvd.spi.Collectives;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Converter;
import io.hvd.tensor.FlatView;
import io.hvd.tensor.Reducer;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Collectives among threads. An allreduce goes chunk by chunk: each rank packs into its own stage,
 * reduces its slice of everybody's stage, and unpacks the whole result. A slice has one owner who
 * adds in rank order, so all ranks get the same bits.
 */
final class LocalCollectives implements Collectives {
    private final LocalHub hub;
    private final int rank;
    private final int size;
    private final Converter converter = new Converter();
    private final Reducer reducer = new Reducer();

    LocalCollectives(LocalHub hub, int rank) {
        this.hub = hub;
        this.rank = rank;
        this.size = hub.size();
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        FlatView source = new FlatView(inputs, how.wire(), converter);
        FlatView target = new FlatView(outputs, how.wire(), converter);
        ByteBuffer stage = hub.stages().get(rank);
        int chunk = stage.capacity() / how.wire().bytes();
        for (long from = 0; from < source.elements(); from += chunk) {
            int count = (int) Math.min(chunk, source.elements() - from);
            source.pack(from, count, stage, how.prescale());
            hub.rendezvous().meet();
            int first = (int) ((long) count * rank / size);
            int last = (int) ((long) count * (rank + 1) / size);
            reducer.reduce(how.op(), how.wire(), hub.stages(), first, last - first, hub.result());
            hub.rendezvous().meet();
            target.unpack(from, count, hub.result(), how.postscale());
        }
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        hub.posted().set(rank, input);
        hub.rendezvous().meet();
        long at = 0;
        for (int from = 0; from < size; from++) {
            converter.copy(hub.posted().get(from), 0, output, at, elements[from]);
            at += elements[from];
        }
        hub.rendezvous().meet();
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        for (int i = 0; i < inputs.size(); i++) {
            if (rank == root) {
                hub.posted().set(root, inputs.get(i));
            }
            hub.rendezvous().meet();
            Tensor source = hub.posted().get(root);
            if (source != outputs.get(i)) {
                converter.copy(source, 0, outputs.get(i), 0, source.elements());
            }
            hub.rendezvous().meet();
        }
    }
}
