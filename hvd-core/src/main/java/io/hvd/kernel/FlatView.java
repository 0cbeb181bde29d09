package io.hvd.kernel;

import io.hvd.tensor.BufferMemory;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;

/**
 * The host tensors of a batch, read and written as if they were one long run of elements of the wire type. A back end
 * reads as many elements as fit its stage, chunk by chunk, whatever the tensors' borders.
 */
public final class FlatView {
    private final List<Tensor> tensors;
    private final long[] starts;
    private final DType wire;
    /** The half type to whose numbers elements are rounded when they are read; null if to none. */
    private final DType grid;

    private final Converter converter;
    private final boolean converts;

    /** A view of tensors as one run of elements of the type {@code wire}. */
    public FlatView(List<Tensor> tensors, DType wire, Converter converter) {
        this(tensors, wire, null, converter);
    }

    private FlatView(List<Tensor> tensors, DType wire, DType grid, Converter converter) {
        this.tensors = tensors;
        this.wire = wire;
        this.grid = grid;
        this.converter = converter;
        this.starts = new long[tensors.size() + 1];
        boolean different = false;
        for (int i = 0; i < tensors.size(); i++) {
            starts[i + 1] = starts[i] + tensors.get(i).elements();
            different |= tensors.get(i).dtype() != wire;
        }
        this.converts = different;
    }

    /**
     * A view of float32 and float64 tensors as one run of float32, in which elements are read as the nearest numbers of a half
     * type.
     */
    public static FlatView rounded(List<Tensor> tensors, DType grid, Converter converter) {
        return new FlatView(tensors, DType.FLOAT32, grid, converter);
    }

    /** A view of the output tensors: this one if they are the same, or a new one. */
    public FlatView of(List<Tensor> outputs) {
        for (int i = 0; i < tensors.size(); i++) {
            if (tensors.get(i) != outputs.get(i)) {
                return new FlatView(outputs, wire, grid, converter);
            }
        }
        return this;
    }

    /** The number of elements of all tensors. */
    public long elements() {
        return starts[tensors.size()];
    }

    /** The type in which elements are packed and unpacked. */
    public DType wire() {
        return wire;
    }

    /** Whether some tensor is of another type than the wire's. */
    public boolean converts() {
        return converts;
    }

    /** Fills {@code stage} from its start with {@code count} scaled elements, beginning at element {@code from}. */
    public void pack(long from, int count, ByteBuffer stage, double scale) {
        pack(from, count, stage, 0, scale);
    }

    /**
     * Fills {@code stage} with {@code count} scaled elements, beginning at element {@code from}.
     *
     * @param begin number of the element of the stage at which they begin
     */
    public void pack(long from, int count, ByteBuffer stage, int begin, double scale) {
        int start = begin * wire.bytes();
        if (grid != null) {
            forEachPart(
                    from,
                    count,
                    (tensor, first, run, at) ->
                            converter.packRounded(tensor, first, run, stage, start + at, grid, scale));
            return;
        }
        forEachPart(
                from,
                count,
                (tensor, first, run, at) -> converter.pack(tensor, first, run, stage, start + at, wire, scale));
    }

    /** Writes {@code count} elements from the start of {@code stage}, scaled, to the elements from {@code from} on. */
    public void unpack(long from, int count, ByteBuffer stage, Scale scale) {
        unpack(from, count, stage, 0, scale);
    }

    /**
     * Writes {@code count} elements of {@code stage}, scaled, to the elements from {@code from} on.
     *
     * @param begin number of the element of the stage at which they begin
     */
    public void unpack(long from, int count, ByteBuffer stage, int begin, Scale scale) {
        int start = begin * wire.bytes();
        forEachPart(
                from,
                count,
                (tensor, first, run, at) -> converter.unpack(stage, start + at, wire, tensor, first, run, scale));
    }

    /**
     * Fills {@code block}, an array of the wire type's kind, with {@code count} scaled elements from {@code from} on. Where elements
     * are rounded to a half type, it may also be an {@code int[]} for their bits.
     */
    public void read(long from, int count, Object block, double scale) {
        if (grid != null && block instanceof int[] bits) {
            forEachPart(
                    from,
                    count,
                    (tensor, first, run, at) ->
                            converter.loadBits(tensor, first, run, bits, at / wire.bytes(), grid, scale));
            return;
        }
        if (grid != null) {
            float[] floats = (float[]) block;
            forEachPart(
                    from,
                    count,
                    (tensor, first, run, at) ->
                            converter.loadRounded(tensor, first, run, floats, at / wire.bytes(), grid, scale));
            return;
        }
        forEachPart(
                from,
                count,
                (tensor, first, run, at) -> converter.load(tensor, first, run, block, at / wire.bytes(), wire, scale));
    }

    /**
     * Writes {@code count} elements from the start of {@code block}, which is as for {@link #read}, scaled, to the elements from
     * {@code from} on.
     */
    public void write(long from, int count, Object block, Scale scale) {
        if (grid != null && block instanceof int[] bits) {
            forEachPart(
                    from,
                    count,
                    (tensor, first, run, at) ->
                            converter.storeBits(bits, at / wire.bytes(), tensor, first, run, scale));
            return;
        }
        forEachPart(
                from,
                count,
                (tensor, first, run, at) -> converter.store(block, at / wire.bytes(), wire, tensor, first, run, scale));
    }

    /**
     * The memory of the elements from {@code from} on, if they lie in a direct buffer in the type that travels.
     *
     * @param most the most elements; there are fewer if the tensor ends before
     * @return null if they do not
     */
    public ByteBuffer direct(long from, int most) {
        return shared(from, most, this);
    }

    /**
     * As {@link #direct}.
     *
     * @param other a view of as many tensors
     * @return null also if {@code other} has another tensor at this place
     */
    public ByteBuffer shared(long from, int most, FlatView other) {
        int i = tensorAt(from);
        while (starts[i + 1] <= from) {
            i++;
        }
        Tensor tensor = tensors.get(i);
        boolean asItTravels = grid == null && tensor == other.tensors.get(i) && tensor.dtype() == wire;
        if (!asItTravels || !(tensor.memory() instanceof BufferMemory direct)) {
            return null;
        }
        int first = Math.toIntExact((from - starts[i]) * wire.bytes());
        int count = (int) Math.min(most, starts[i + 1] - from);
        return direct.buffer().slice(first, count * wire.bytes()).order(ByteOrder.nativeOrder());
    }

    private void forEachPart(long from, int count, Part part) {
        long end = from + count;
        for (int i = tensorAt(from); i < tensors.size() && starts[i] < end; i++) {
            long first = Math.max(from, starts[i]);
            long last = Math.min(end, starts[i + 1]);
            if (first < last) {
                int at = Math.toIntExact((first - from) * wire.bytes());
                part.visit(tensors.get(i), first - starts[i], (int) (last - first), at);
            }
        }
    }

    /** The number of a tensor that begins at the element or before it; all tensors before this one end by then. */
    private int tensorAt(long element) {
        int found = Arrays.binarySearch(starts, element);
        return found >= 0 ? found : -found - 2;
    }

    private interface Part {
        void visit(Tensor tensor, long first, int count, int stageByte);
    }
}
