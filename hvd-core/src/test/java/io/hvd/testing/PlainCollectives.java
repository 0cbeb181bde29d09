package io.hvd.testing;

import io.hvd.kernel.Converter;
import io.hvd.kernel.Reducer;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;

/**
 * Collectives among threads in the simplest way, as an oracle for others: the ranks show each other whole tensors, and
 * each computes its own result from all of them, in rank order, without chunks and without shared results.
 */
public final class PlainCollectives implements Collectives {
    private final Board board;
    private final int rank;
    private final int size;
    private final Converter converter = new Converter();
    private final Reducer reducer = new Reducer();

    private static final class Board {
        final CyclicBarrier barrier;
        final List<List<Tensor>> shown;
        final long[][] counts;

        Board(int size) {
            barrier = new CyclicBarrier(size);
            shown = new ArrayList<>(
                    IntStream.range(0, size).mapToObj(any -> List.<Tensor>of()).toList());
            counts = new long[size][];
        }
    }

    private PlainCollectives(Board board, int rank) {
        this.board = board;
        this.rank = rank;
        this.size = board.counts.length;
    }

    /** The collectives of ranks 0 to {@code size - 1}. */
    public static List<Collectives> team(int size) {
        Board board = new Board(size);
        return IntStream.range(0, size)
                .<Collectives>mapToObj(rank -> new PlainCollectives(board, rank))
                .toList();
    }

    private void meet() {
        try {
            board.barrier.await(100, TimeUnit.SECONDS);
        } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
            throw new IllegalStateException("rank " + rank + " waits for the others", e);
        }
    }

    private void show(List<Tensor> tensors) {
        board.shown.set(rank, tensors);
        meet();
    }

    /** The tensor that a rank shows, whose elements begin at {@code first}. */
    private void copy(int from, long first, Tensor output, long at, long count) {
        converter.copy(board.shown.get(from).get(0), first, output, at, count);
    }

    private void reduce(int tensor, long first, int count, Tensor output, Reduction how) {
        List<ByteBuffer> parts = new ArrayList<>();
        for (int from = 0; from < size; from++) {
            ByteBuffer part =
                    ByteBuffer.allocateDirect(count * how.wire().bytes()).order(ByteOrder.nativeOrder());
            converter.pack(board.shown.get(from).get(tensor), first, count, part, 0, how.wire(), how.prescale());
            parts.add(part);
        }
        ByteBuffer result =
                ByteBuffer.allocateDirect(count * how.wire().bytes()).order(ByteOrder.nativeOrder());
        reducer.reduce(how.op(), how.wire(), parts, 0, count, result);
        converter.unpack(result, 0, how.wire(), output, 0, count, how.scale());
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        show(inputs);
        List<Tensor> results = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            Tensor result = Tensor.zeros(outputs.get(i).dtype(), outputs.get(i).shape());
            reduce(i, 0, Math.toIntExact(result.elements()), result, how);
            results.add(result);
        }
        meet();
        for (int i = 0; i < results.size(); i++) {
            converter.copy(results.get(i), 0, outputs.get(i), 0, results.get(i).elements());
        }
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        show(List.of(input));
        collect(output, elements);
        meet();
    }

    private void collect(Tensor output, long[] elements) {
        long at = 0;
        for (int from = 0; from < size; from++) {
            copy(from, 0, output, at, elements[from]);
            at += elements[from];
        }
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        show(inputs);
        List<Tensor> shown = board.shown.get(root);
        for (int i = 0; i < shown.size(); i++) {
            if (shown.get(i) != outputs.get(i)) {
                converter.copy(shown.get(i), 0, outputs.get(i), 0, shown.get(i).elements());
            }
        }
        meet();
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        board.counts[rank] = sent;
        show(List.of(input));
        long at = 0;
        for (int from = 0; from < size; from++) {
            copy(from, Arrays.stream(board.counts[from], 0, rank).sum(), output, at, received[from]);
            at += received[from];
        }
        meet();
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        show(List.of(input));
        reduce(0, Arrays.stream(elements, 0, rank).sum(), Math.toIntExact(elements[rank]), output, how);
        meet();
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        show(List.of(input));
        Tensor result = Tensor.zeros(input.dtype(), Shape.of(input.elements()));
        reduce(0, 0, Math.toIntExact(input.elements()), result, how);
        meet();
        if (rank == root) {
            converter.copy(result, 0, output, 0, result.elements());
        }
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        show(List.of(input));
        if (rank == root) {
            collect(output, elements);
        }
        meet();
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        show(input == null ? List.of() : List.of(input));
        copy(root, Arrays.stream(elements, 0, rank).sum(), output, 0, elements[rank]);
        meet();
    }

    @Override
    public void send(Tensor tensor, int to) {
        throw new UnsupportedOperationException("an oracle for collectives");
    }

    @Override
    public void receive(Tensor tensor, int from) {
        throw new UnsupportedOperationException("an oracle for collectives");
    }

    @Override
    public Completion completion() {
        return null;
    }

    @Override
    public void report(Activities to) {
        // Nobody asks an oracle how it works.
    }

    @Override
    public void abandon() {
        // No work goes on after a call has returned.
    }

    @Override
    public void close() {
        // There is nothing to release but memory.
    }
}
