package io.hvd.train.checkpoint;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.kernel.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Copies of tensors in memory that is made once and used for every checkpoint, so that the training may change the tensors
 * while the copies are written. Several threads copy: the other ranks wait for this one meanwhile.
 */
final class TensorCopies {
    /** Bytes of one buffer, a multiple of every element's size. */
    private static final long LONGEST_BUFFER = 1L << 30;

    /** Bytes that a thread copies at once. */
    private static final int PIECE = 1 << 22;

    private record Room(DType type, Shape shape, List<ByteBuffer> buffers) {
        static Room of(Tensor tensor) {
            List<ByteBuffer> buffers = new ArrayList<>();
            for (long from = 0; from < tensor.bytes(); from += LONGEST_BUFFER) {
                int bytes = (int) Math.min(LONGEST_BUFFER, tensor.bytes() - from);
                buffers.add(BufferLedger.PROCESS.direct(Owner.CHECKPOINTS, bytes));
            }
            return new Room(tensor.dtype(), tensor.shape(), buffers);
        }

        boolean fits(Tensor tensor) {
            return type == tensor.dtype() && shape.equals(tensor.shape());
        }

        Tensor copy(Tensor tensor) {
            if (buffers.isEmpty()) {
                return Tensor.zeros(type, shape);
            }
            int elements = PIECE / type.bytes();
            int pieces = Math.toIntExact((tensor.elements() + elements - 1) / elements);
            IntStream.range(0, pieces)
                    .parallel()
                    .forEach(piece -> copyPiece(tensor, (long) piece * elements, elements));
            return Tensor.wrap(buffers, type, shape);
        }

        private void copyPiece(Tensor tensor, long first, int most) {
            int count = (int) Math.min(most, tensor.elements() - first);
            long at = first * type.bytes();
            ByteBuffer buffer = buffers.get((int) (at / LONGEST_BUFFER));
            ByteBuffer own = buffer.duplicate().order(ByteOrder.nativeOrder());
            new Converter().pack(tensor, first, count, own, (int) (at % LONGEST_BUFFER), type, 1);
        }
    }

    private final Map<String, Room> rooms = new HashMap<>();

    /** Makes the memory for copies of such tensors; that takes longer than a copy. */
    void reserve(Map<String, Tensor> tensors) {
        rooms.keySet().retainAll(tensors.keySet());
        tensors.forEach(this::room);
    }

    /** Overwrites the copies of the call before. */
    SortedMap<String, Tensor> of(Map<String, Tensor> tensors) {
        reserve(tensors);
        SortedMap<String, Tensor> copies = new TreeMap<>();
        tensors.forEach((name, tensor) -> copies.put(name, room(name, tensor).copy(tensor)));
        return copies;
    }

    private Room room(String name, Tensor tensor) {
        return rooms.compute(name, (key, room) -> room != null && room.fits(tensor) ? room : Room.of(tensor));
    }
}
