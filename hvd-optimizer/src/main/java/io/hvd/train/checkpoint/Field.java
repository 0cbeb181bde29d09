package io.hvd.train.checkpoint;

import io.hvd.ObjectCodec;
import io.hvd.data.StateWords;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Base64;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** A value of the program's own as a part of a training. */
record Field<T>(Supplier<T> current, Consumer<T> taker, ObjectCodec<T> codec) implements Stateful {
    private static final String VALUE = "value";
    private static final Map<Class<?>, Function<String, ?>> PLAIN = Map.of(
            Integer.class, Integer::valueOf,
            Long.class, Long::valueOf,
            Double.class, Double::valueOf,
            Boolean.class, Boolean::valueOf,
            String.class, word -> word);

    /** A number, a word or a truth value in its usual form, from which the very same value is read. */
    private record Plain<T>(Class<T> type) implements ObjectCodec<T> {
        @Override
        public byte[] encode(T value) {
            return ObjectCodec.utf8().encode(value.toString());
        }

        @Override
        public T decode(byte[] bytes) {
            return type.cast(PLAIN.get(type).apply(ObjectCodec.utf8().decode(bytes)));
        }
    }

    /** @throws HvdException if the value is not a number, a word or a truth value */
    @SuppressWarnings("unchecked") // the class of a T
    static <T> Field<T> plain(String name, Supplier<T> current, Consumer<T> taker) {
        T now = current.get();
        if (now == null || !PLAIN.containsKey(now.getClass())) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "field(\"" + name + "\", ...): its value is " + (now == null ? "null" : "of " + now.getClass())
                            + ", expected an int, long, double, boolean or String; for another type give an ObjectCodec too");
        }
        return new Field<>(current, taker, new Plain<>((Class<T>) now.getClass()));
    }

    @Override
    public Map<String, String> saveState() {
        return Map.of(VALUE, Base64.getEncoder().encodeToString(codec.encode(current.get())));
    }

    @Override
    public void loadState(Map<String, String> state) {
        new StateWords("a field", state).requireKind("field", saveState().keySet());
        taker.accept(codec.decode(Base64.getDecoder().decode(state.get(VALUE))));
    }
}
