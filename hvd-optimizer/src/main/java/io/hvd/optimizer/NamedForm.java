package io.hvd.optimizer;

import io.hvd.ObjectCodec;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** What a rank must know of a {@link NamedState} before its tensors come: their types and shapes, and the words. */
record NamedForm(SortedMap<String, Spec> specs, SortedMap<String, String> words) {
    record Spec(DType type, Shape shape) {
        Tensor zeros() {
            return Tensor.zeros(type, shape);
        }
    }

    /** Java's form of data, with names of at most 65,535 bytes; nothing for null. */
    static final ObjectCodec<NamedForm> CODEC = new ObjectCodec<>() {
        @Override
        public byte[] encode(NamedForm form) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            if (form == null) {
                return bytes.toByteArray();
            }
            try (DataOutputStream out = new DataOutputStream(bytes)) {
                out.writeInt(form.specs.size());
                for (Map.Entry<String, Spec> spec : form.specs.entrySet()) {
                    out.writeUTF(spec.getKey());
                    out.writeUTF(spec.getValue().type.name());
                    out.writeInt(spec.getValue().shape.rank());
                    for (long dim : spec.getValue().shape.toArray()) {
                        out.writeLong(dim);
                    }
                }
                out.writeInt(form.words.size());
                for (Map.Entry<String, String> word : form.words.entrySet()) {
                    out.writeUTF(word.getKey());
                    out.writeUTF(word.getValue());
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return bytes.toByteArray();
        }

        @Override
        public NamedForm decode(byte[] bytes) {
            if (bytes.length == 0) {
                return null;
            }
            NamedForm form = new NamedForm(new TreeMap<>(), new TreeMap<>());
            try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
                for (int left = in.readInt(); left > 0; left--) {
                    String name = in.readUTF();
                    DType type = DType.valueOf(in.readUTF());
                    long[] dims = new long[in.readInt()];
                    for (int i = 0; i < dims.length; i++) {
                        dims[i] = in.readLong();
                    }
                    form.specs.put(name, new Spec(type, Shape.of(dims)));
                }
                for (int left = in.readInt(); left > 0; left--) {
                    String key = in.readUTF();
                    form.words.put(key, in.readUTF());
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return form;
        }
    };

    static NamedForm of(NamedState state) {
        SortedMap<String, Spec> specs = new TreeMap<>();
        state.tensors().forEach((name, tensor) -> specs.put(name, new Spec(tensor.dtype(), tensor.shape())));
        return new NamedForm(specs, state.words());
    }
}
