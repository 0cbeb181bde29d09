package io.hvd.optimizer;

import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
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
import java.util.function.Predicate;

/** Gives all ranks the state that one of them has, tensor by tensor, so that no array has to hold all of it. */
public final class NamedBroadcast {
    private NamedBroadcast() {}

    /** Types and shapes of the tensors, and the words. */
    private record Form(SortedMap<String, Spec> specs, SortedMap<String, String> words) {}

    private record Spec(DType type, Shape shape) {}

    /** Java's form of data, with names of at most 65,535 bytes. */
    private static final ObjectCodec<Form> CODEC = new ObjectCodec<>() {
        @Override
        public byte[] encode(Form form) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
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
        public Form decode(byte[] bytes) {
            Form form = new Form(new TreeMap<>(), new TreeMap<>());
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

    /**
     * A collective.
     *
     * @param state that of the root; anything on other ranks
     * @param root global rank
     * @param keeps the parameters whose state this rank wants; it keeps no other in memory
     * @return the root's state; on the root itself the very one
     */
    public static NamedState of(ProcessSet set, String name, NamedState state, int root, Predicate<String> keeps) {
        boolean isRoot = set.ranks().get(set.rank()) == root;
        Form form = set.broadcastObject(name + ".form", isRoot ? form(state) : null, CODEC, root);
        SortedMap<String, Tensor> kept = new TreeMap<>();
        int number = 0;
        for (Map.Entry<String, Spec> spec : form.specs.entrySet()) {
            String key = spec.getKey();
            Tensor tensor =
                    isRoot ? state.tensors().get(key) : Tensor.zeros(spec.getValue().type, spec.getValue().shape);
            set.broadcastInPlace(name + "." + number++, tensor, root);
            if (isRoot || !key.contains(".") || keeps.test(NamedState.parameter(key))) {
                kept.put(key, tensor);
            }
        }
        return new NamedState(kept, form.words);
    }

    private static Form form(NamedState state) {
        SortedMap<String, Spec> specs = new TreeMap<>();
        state.tensors().forEach((name, tensor) -> specs.put(name, new Spec(tensor.dtype(), tensor.shape())));
        return new Form(specs, state.words());
    }
}
