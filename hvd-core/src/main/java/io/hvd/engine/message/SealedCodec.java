package io.hvd.engine.message;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageReader.Decoding;
import io.hvd.net.MessageWriter;
import io.hvd.net.MessageWriter.Encoding;
import java.util.List;

/**
 * Writes values of a sealed family as bytes and reads them back: one byte tells the record, and its components follow.
 *
 * @param <T> the family
 * @param forms one for each record of the family; their order is part of the wire format
 */
record SealedCodec<T>(List<Form<? extends T>> forms) {
    SealedCodec {
        forms = List.copyOf(forms);
    }

    /** How one record of the family is written and read. */
    record Form<R>(Class<R> type, Encoding<R> encoding, Decoding<R> decoding) {
        private void write(MessageWriter out, Object value) {
            encoding.write(out, type.cast(value));
        }
    }

    void write(MessageWriter out, T value) {
        int kind = 0;
        while (forms.get(kind).type() != value.getClass()) {
            kind++;
        }
        out.writeByte(kind);
        forms.get(kind).write(out, value);
    }

    T read(MessageReader in) {
        int kind = in.readUnsignedByte();
        if (kind >= forms.size()) {
            throw in.malformed("kind " + kind, "at most " + (forms.size() - 1));
        }
        return forms.get(kind).decoding().read(in);
    }
}
