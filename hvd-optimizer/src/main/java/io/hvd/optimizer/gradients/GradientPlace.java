package io.hvd.optimizer.gradients;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Parameter;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.HeapMemory;
import io.hvd.tensor.Memory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Where a parameter's gradient lies, as far as Java can tell: a direct buffer has no address.
 *
 * @param memory an array, or a device, on which addresses are compared
 * @param begin the first element or byte
 * @param end behind the last one
 */
public record GradientPlace(Parameter parameter, Object memory, long begin, long end) {
    /** An array is the same if it is the same object. */
    private record Array(Object array) {
        @Override
        public boolean equals(Object other) {
            return other instanceof Array that && that.array == array;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(array);
        }
    }

    /** Requires memory of its own for each gradient: they are averaged where they lie, several at a time. */
    public static void requireSeparate(List<Parameter> parameters) {
        Map<Object, List<GradientPlace>> byMemory = new HashMap<>();
        for (Parameter parameter : parameters) {
            Memory memory = parameter.gradient().memory();
            if (memory.bytes() > 0 && memory instanceof HeapMemory heap) {
                add(
                        new GradientPlace(
                                parameter,
                                new Array(heap.array()),
                                heap.offset(),
                                (long) heap.offset() + heap.length()),
                        byMemory);
            } else if (memory.bytes() > 0 && memory instanceof DeviceMemory device) {
                add(
                        new GradientPlace(
                                parameter, device.device(), device.address(), device.address() + device.bytes()),
                        byMemory);
            }
        }
        byMemory.values().forEach(GradientPlace::requireNoOverlap);
    }

    private static void add(GradientPlace place, Map<Object, List<GradientPlace>> byMemory) {
        byMemory.computeIfAbsent(place.memory, key -> new ArrayList<>()).add(place);
    }

    private static void requireNoOverlap(List<GradientPlace> inOneMemory) {
        inOneMemory.sort(Comparator.comparing(GradientPlace::begin));
        for (int i = 1; i < inOneMemory.size(); i++) {
            GradientPlace before = inOneMemory.get(i - 1);
            GradientPlace next = inOneMemory.get(i);
            if (next.begin < before.end) {
                throw new HvdException(
                        ErrorId.OPTIMIZER_MISUSE,
                        "the gradients of \"" + before.parameter.name() + "\" and \"" + next.parameter.name()
                                + "\" lie in the same memory, expected memory of its own for each. A parameter that several"
                                + " layers share is one parameter, whose gradient is averaged once");
            }
        }
    }
}
