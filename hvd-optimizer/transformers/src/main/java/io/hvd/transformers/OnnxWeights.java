package io.hvd.transformers;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The weights in an ONNX file that torch has exported. Dense layers' weights have lost their names there and are transposed: the node
 * that multiplies by them has the name of the layer.
 *
 * <p>The field numbers are those of {@code onnx.proto} (ONNX IR version 10).
 */
final class OnnxWeights {
    private static final int MODEL_GRAPH = 7;
    private static final int GRAPH_NODE = 1;
    private static final int GRAPH_INITIALIZER = 5;
    private static final int NODE_INPUT = 1;
    private static final int NODE_NAME = 3;
    private static final int NODE_OPERATOR = 4;
    private static final int TENSOR_DIMS = 1;
    private static final int TENSOR_TYPE = 2;
    private static final int TENSOR_NAME = 8;
    private static final int TENSOR_RAW = 9;
    private static final int FLOAT = 1;
    private static final String PRODUCT = "/MatMul";

    private final SortedMap<String, Tensor> initializers = new TreeMap<>();
    private final List<Node> products = new ArrayList<>();

    private record Node(String name, String operator, List<String> inputs) {}

    private OnnxWeights() {}

    /**
     * Reads the float32 weights under the names that they had in torch.
     *
     * @throws HvdException if it is no ONNX file
     */
    static SortedMap<String, Tensor> read(byte[] file) {
        OnnxWeights weights = new OnnxWeights();
        try {
            weights.model(CodedInputStream.newInstance(file));
        } catch (IOException e) {
            throw new HvdException(ErrorId.BAD_CHECKPOINT, "this is no ONNX file: " + e.getMessage(), e);
        }
        return weights.named();
    }

    private void model(CodedInputStream in) throws IOException {
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            if (WireFormat.getTagFieldNumber(tag) == MODEL_GRAPH) {
                int limit = in.pushLimit(in.readRawVarint32());
                graph(in);
                in.popLimit(limit);
            } else {
                in.skipField(tag);
            }
        }
    }

    private void graph(CodedInputStream in) throws IOException {
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            int field = WireFormat.getTagFieldNumber(tag);
            if (field != GRAPH_NODE && field != GRAPH_INITIALIZER) {
                in.skipField(tag);
                continue;
            }
            int limit = in.pushLimit(in.readRawVarint32());
            if (field == GRAPH_NODE) {
                node(in);
            } else {
                initializer(in);
            }
            in.popLimit(limit);
        }
    }

    private void node(CodedInputStream in) throws IOException {
        List<String> inputs = new ArrayList<>();
        String name = "";
        String operator = "";
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            switch (WireFormat.getTagFieldNumber(tag)) {
                case NODE_INPUT -> inputs.add(in.readString());
                case NODE_NAME -> name = in.readString();
                case NODE_OPERATOR -> operator = in.readString();
                default -> in.skipField(tag);
            }
        }
        if (operator.equals(PRODUCT.substring(1)) && name.startsWith("/") && name.endsWith(PRODUCT)) {
            products.add(new Node(name, operator, inputs));
        }
    }

    private void initializer(CodedInputStream in) throws IOException {
        List<Long> dims = new ArrayList<>();
        int type = 0;
        String name = "";
        ByteString raw = ByteString.EMPTY;
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            switch (WireFormat.getTagFieldNumber(tag)) {
                case TENSOR_DIMS -> dims(in, tag, dims);
                case TENSOR_TYPE -> type = in.readInt32();
                case TENSOR_NAME -> name = in.readString();
                case TENSOR_RAW -> raw = in.readBytes();
                default -> in.skipField(tag);
            }
        }
        Shape shape = Shape.of(dims.stream().mapToLong(Long::longValue).toArray());
        if (type == FLOAT && raw.size() == shape.elements() * Float.BYTES) {
            float[] values = new float[raw.size() / Float.BYTES];
            raw.asReadOnlyByteBuffer()
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .asFloatBuffer()
                    .get(values);
            initializers.put(name, Tensor.wrap(values, DType.FLOAT32, shape));
        }
    }

    /** One number, or a row of them. */
    private static void dims(CodedInputStream in, int tag, List<Long> dims) throws IOException {
        if (WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_VARINT) {
            dims.add(in.readInt64());
            return;
        }
        int limit = in.pushLimit(in.readRawVarint32());
        while (!in.isAtEnd()) {
            dims.add(in.readInt64());
        }
        in.popLimit(limit);
    }

    private SortedMap<String, Tensor> named() {
        SortedMap<String, Tensor> named = new TreeMap<>();
        for (Node product : products) {
            Tensor weight = initializers.get(product.inputs().get(1));
            if (weight != null && weight.shape().rank() == 2) {
                String layer = product.name()
                        .substring(1, product.name().length() - PRODUCT.length())
                        .replace('/', '.');
                named.put(layer + ".weight", transposed(weight));
            }
        }
        initializers.forEach((name, value) -> {
            if (!name.contains("::")) {
                named.put(name, value);
            }
        });
        return named;
    }

    private static Tensor transposed(Tensor matrix) {
        int rows = Math.toIntExact(matrix.shape().toArray()[0]);
        int columns = Math.toIntExact(matrix.shape().toArray()[1]);
        float[] from = matrix.toFloatArray();
        float[] to = new float[from.length];
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                to[column * rows + row] = from[row * columns + column];
            }
        }
        return Tensor.wrap(to, DType.FLOAT32, Shape.of(columns, rows));
    }
}
