package io.hvd.collective;

import io.hvd.kernel.Converter;
import io.hvd.kernel.FlatView;
import io.hvd.kernel.Scale;
import io.hvd.spi.Activities;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/** Allreduce chunk by chunk over the stage, where MPI's collectives reduce it. */
final class StagedAllreduce {
    private final Stage stage;
    private final StageReduction reduction;
    private final Converter converter;
    private final Veto veto;

    StagedAllreduce(Stage stage, StageReduction reduction, Converter converter) {
        this.stage = stage;
        this.reduction = reduction;
        this.converter = converter;
        this.veto = new Veto(stage.rank, stage.size);
    }

    void run(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        stream(inputs, outputs, how, false);
    }

    /** @return false if a rank calls {@link #veto} instead; then no output is written */
    boolean runUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        return stream(inputs, outputs, how, true);
    }

    void veto(long elements, Reduction how) {
        int count = (int) Math.min(stage.chunk(how.wire()), elements);
        veto.write(stage.front(), count, how, true);
        reduction.allreduce(stage.front(), count + veto.elements(how.wire()), how);
    }

    /**
     * Reduces a buffer in place, in the same slices as a staged tensor: another rank may have its tensor in an array.
     */
    void runInPlace(ByteBuffer buffer, long elements, Reduction how) {
        int chunk = stage.chunk(how.wire());
        int bytes = how.wire().bytes();
        for (long from = 0; from < elements; from += chunk) {
            int count = (int) Math.min(chunk, elements - from);
            reduction.allreduce(Stage.part(buffer, Math.toIntExact(from * bytes), count * bytes), count, how);
        }
    }

    /** Reduces chunk by chunk over the stage; with a ballot, the veto follows the first chunk's elements. */
    private boolean stream(List<Tensor> inputs, List<Tensor> outputs, Reduction how, boolean ballot) {
        FlatView source = new FlatView(inputs, how.wire(), converter);
        FlatView target = source.of(outputs);
        int chunk = stage.chunk(how.wire());
        boolean asked = !ballot;
        for (long from = 0; from < source.elements() || !asked; from += chunk) {
            int count = (int) Math.min(chunk, source.elements() - from);
            copyIn(source, from, count, how.prescale());
            if (asked) {
                reduction.allreduce(stage.front(), count, how);
            } else {
                veto.write(stage.front(), count, how, false);
                reduction.allreduce(stage.front(), count + veto.elements(how.wire()), how);
                if (veto.isRaised(stage.front(), count, how)) {
                    return false;
                }
                asked = true;
            }
            copyOut(target, from, count, how.scale());
        }
        return true;
    }

    private void copyIn(FlatView source, long from, int count, double scale) {
        stage.copy(Activities.COPY_IN, () -> source.pack(from, count, stage.front(), scale));
    }

    private void copyOut(FlatView target, long from, int count, Scale scale) {
        stage.copy(Activities.COPY_OUT, () -> target.unpack(from, count, stage.front(), scale));
    }
}
