package io.hvd.train.safetensors;

import io.hvd.tensor.Shape;
import java.util.Arrays;

/** The format's rules for one tensor of a header. */
final class EntryRules {
    private EntryRules() {}

    /** The tensor's entry, if its fields fit together. */
    static CheckpointHeader.Entry entry(String name, String type, long[] shape, long[] offsets)
            throws DamagedCheckpoint {
        SafetensorsType known = SafetensorsType.of(type)
                .orElseThrow(() -> damaged(
                        name,
                        "has the type " + type + ", which is none of the format's: "
                                + Arrays.toString(SafetensorsType.values())));
        if (offsets.length != 2 || offsets[1] < offsets[0]) {
            throw damaged(name, "lies at bytes " + Arrays.toString(offsets) + ", expected its first byte and its end");
        }
        Shape dims = shape(name, shape);
        long bytes = offsets[1] - offsets[0];
        if (bytes != bytes(name, known, dims)) {
            throw damaged(
                    name,
                    "of " + known + dims + " has " + bytes + " bytes, expected " + bytes(name, known, dims)
                            + " by its type and shape");
        }
        return new CheckpointHeader.Entry(name, known, dims, offsets[0]);
    }

    private static long bytes(String name, SafetensorsType type, Shape shape) throws DamagedCheckpoint {
        try {
            return type.bytes(shape.elements())
                    .orElseThrow(() -> damaged(
                            name,
                            "of " + type + shape
                                    + " ends inside a byte: the format allows whole bytes per tensor only"));
        } catch (ArithmeticException e) {
            throw damaged(name, "of " + type + shape + " has more bytes than can be counted");
        }
    }

    private static Shape shape(String name, long[] dims) throws DamagedCheckpoint {
        try {
            return Shape.of(dims);
        } catch (ArithmeticException e) {
            throw damaged(name, "has more elements than can be counted");
        }
    }

    static DamagedCheckpoint damaged(String name, String how) {
        return new DamagedCheckpoint("tensor \"" + name + "\" " + how);
    }
}
