package io.hvd.optimizer.torch.gradient;

import io.hvd.cuda.CudaDevice;
import io.hvd.cuda.CudaStream;
import io.hvd.optimizer.torch.memory.TorchStreams;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.bytedeco.pytorch.Tensor;

/**
 * The stream on which gradients of one GPU are averaged, beside the one on which LibTorch computes. hvd has later work
 * on a tensor's stream wait for the average; were that LibTorch's own, the rest of backward would wait too.
 */
public final class ExchangeStream {
    private final CudaDevice cuda;
    private final CudaStream stream;
    private final long compute;

    /** @param compute LibTorch's stream, when the optimizer is made */
    public ExchangeStream(CudaDevice cuda, long compute) {
        this.cuda = cuda;
        this.stream = cuda.createStream();
        this.compute = compute;
    }

    /** Makes one for each GPU on which a parameter lies, and gives null for one on the CPU. */
    public static Function<Tensor, ExchangeStream> onePerGpu() {
        Map<Byte, ExchangeStream> made = new HashMap<>();
        return value -> value.is_cuda()
                ? made.computeIfAbsent(
                        value.device().index(),
                        gpu -> new ExchangeStream(CudaDevice.open(gpu), TorchStreams.current(gpu)))
                : null;
    }

    /** Handle of LibTorch's stream. */
    long compute() {
        return compute;
    }

    /** Handle of the stream that gradients belong to from {@link #take} to {@link #giveBack}. */
    public long handle() {
        return stream.handle();
    }

    /** A gradient is complete when what LibTorch has queued by now is done. On the thread that runs the hook. */
    public void take() {
        cuda.enter();
        stream.follow(compute);
    }

    /** What LibTorch queues from now on finds the averages. */
    public void giveBack() {
        cuda.enter();
        stream.holdBack(compute);
    }
}
