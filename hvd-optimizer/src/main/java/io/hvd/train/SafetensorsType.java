package io.hvd.train;

import io.hvd.tensor.DType;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The format's names for the types of elements. */
final class SafetensorsType {
    private static final Map<DType, String> NAMES = new EnumMap<>(Map.ofEntries(
            Map.entry(DType.FLOAT32, "F32"),
            Map.entry(DType.FLOAT64, "F64"),
            Map.entry(DType.INT32, "I32"),
            Map.entry(DType.INT64, "I64"),
            Map.entry(DType.INT8, "I8"),
            Map.entry(DType.UINT8, "U8"),
            Map.entry(DType.FLOAT16, "F16"),
            Map.entry(DType.BFLOAT16, "BF16"),
            Map.entry(DType.BOOL, "BOOL"),
            Map.entry(DType.INT16, "I16"),
            Map.entry(DType.UINT16, "U16")));
    private static final Map<String, DType> TYPES = new HashMap<>();

    static {
        NAMES.forEach((type, name) -> TYPES.put(name, type));
    }

    private SafetensorsType() {}

    static String name(DType type) {
        return NAMES.get(type);
    }

    /** Empty for what hvd's tensors cannot hold. */
    static Optional<DType> of(String name) {
        return Optional.ofNullable(TYPES.get(name));
    }
}
