package io.hvd.spark;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;

/** The result of a rank on its way to the driver, in Java's own form, whatever serializer the application has. */
final class RankResult {
    private RankResult() {}

    /** @throws HvdException if Java cannot serialize it */
    static byte[] encode(Object result) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(result);
        } catch (IOException e) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "the result of the body, of " + result.getClass() + ", cannot be sent to the driver: " + e
                            + "; a result has to be java.io.Serializable, with all that it refers to",
                    e);
        }
        return bytes.toByteArray();
    }

    static Object decode(byte[] bytes) {
        try (ObjectInputStream in = new OfApplication(new ByteArrayInputStream(bytes))) {
            return in.readObject();
        } catch (IOException | ClassNotFoundException e) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "the driver cannot read the result of a rank, whose classes it lacks: " + e,
                    e);
        }
    }

    /** Finds the classes of the application, which may have come to the driver after its start. */
    private static final class OfApplication extends ObjectInputStream {
        OfApplication(InputStream in) throws IOException {
            super(in);
        }

        @Override
        protected Class<?> resolveClass(ObjectStreamClass type) throws IOException, ClassNotFoundException {
            try {
                return Class.forName(
                        type.getName(), false, Thread.currentThread().getContextClassLoader());
            } catch (ClassNotFoundException e) {
                return super.resolveClass(type);
            }
        }
    }
}
