package io.hvd.transport.nccl.natives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.cuda.CudaEvent;
import io.hvd.cuda.CudaStream;
import io.hvd.cuda.SimulatedGpu;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How a communicator ends, with a simulated device: it proves who waits for whom, not what NCCL does. */
@Timeout(60)
class NcclCommunicatorTest {
    private final SimulatedNccl.Fabric fabric = new SimulatedNccl.Fabric();
    private final SimulatedGpu gpu = new SimulatedGpu();
    private final NcclCalls nccl = new SimulatedNccl(gpu, fabric);

    private NcclCommunicator joined(CudaStream stream, int size) throws Exception {
        byte[] id = nccl.uniqueId();
        NcclCalls other = new SimulatedNccl(new SimulatedGpu(), fabric);
        CompletableFuture<Void> peer = CompletableFuture.runAsync(() -> {
            if (size > 1) {
                other.join(id, size, 1);
            }
        });
        NcclCommunicator communicator = new NcclCommunicator(nccl, id, size, 0, stream.handle());
        peer.get(20, TimeUnit.SECONDS);
        return communicator;
    }

    /** NCCL's abort waits for the device, which here waits for both of them: who waited for the first would do so for ever. */
    @Test
    void communicatorsWhosePeersAreGoneCanBeGivenUpOneAfterTheOther() throws Exception {
        CudaStream stream = gpu.device().createStream();
        long memory = gpu.allocate(64);
        NcclCommunicator first = joined(stream, 2);
        NcclCommunicator second = joined(stream, 2);
        first.with(ReduceOp.SUM, operator -> first.allReduce(memory, memory, 4, DType.FLOAT32, operator));
        second.with(ReduceOp.SUM, operator -> second.allReduce(memory, memory, 4, DType.FLOAT32, operator));
        CudaEvent end = stream.recordEvent();

        first.abort();
        second.abort();
        end.await();

        first.requireSound();
        second.close();
    }

    @Test
    void aFailureInsideAGroupClosesItSoThatTheNextCallIsCarriedOut() throws Exception {
        CudaStream stream = gpu.device().createStream();
        long memory = gpu.allocate(64);
        NcclCommunicator alone = joined(stream, 1);
        assertThatThrownBy(() -> alone.grouped(() -> {
                    throw new IllegalArgumentException("no such tensor");
                }))
                .hasMessage("no such tensor");

        alone.broadcast(memory, memory, 4, 0);
        stream.await();
        assertThat(gpu.failure()).isNull();
        alone.close();
    }
}
