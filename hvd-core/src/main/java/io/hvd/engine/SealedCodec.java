package io.hvd.engine;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Values of a sealed family as bytes: one byte tells the record, its components follow.
 *
 * @param <T> the family
 */
final class SealedCodec<T> {
    private final List<Form<? extends T>> forms;
    private final Map<Class<?>, Integer> kinds = new HashMap<>();

    /** @param forms one for each record of the family; their order is part of the wire format */
    SealedCodec(List<Form<? extends T>> forms) {
        this.forms = forms;
        for (int kind = 0; kind < forms.size(); kind++) {
            kinds.put(forms.get(kind).type(), kind);
        }
    }

    /** How one record of the family is written and read. */
    record Form<R>(Class<R> type, Writing<R> writing, Reading<R> reading) {
        private void write(DataOutputStream out, Object value) throws IOException {
            writing.write(out, type.cast(value));
        }
    }

    /** Writes the components of a record. */
    interface Writing<R> {
        void write(DataOutputStream out, R value) throws IOException;
    }

    /** Reads what has been written so. */
    interface Reading<R> {
        R read(DataInputStream in) throws IOException;
    }

    void write(DataOutputStream out, T value) throws IOException {
        int kind = kinds.get(value.getClass());
        out.writeByte(kind);
        forms.get(kind).write(out, value);
    }

    T read(DataInputStream in) throws IOException {
        return forms.get(in.readUnsignedByte()).reading().read(in);
    }
}
