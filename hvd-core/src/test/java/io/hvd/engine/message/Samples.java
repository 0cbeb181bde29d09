package io.hvd.engine.message;

import io.hvd.engine.message.Request.Payload;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Makes records of every kind, of which every component differs from every other, so that a swap shows. */
public final class Samples {
    private int number;

    /** All records of a sealed family. */
    static List<Class<?>> records(Class<?> family) {
        return Stream.of(family.getPermittedSubclasses())
                .flatMap(member -> member.isRecord() ? Stream.of(member) : records(member).stream())
                .distinct()
                .toList();
    }

    /** Records of each kind, which between them hold every constant of an enum if there are enough of them. */
    <T> List<T> of(Class<T> family, int each) throws ReflectiveOperationException {
        List<T> samples = new ArrayList<>();
        for (Class<?> kind : records(family)) {
            for (int i = 0; i < each; i++) {
                samples.add(family.cast(record(kind)));
            }
        }
        return samples;
    }

    private Object record(Class<?> kind) throws ReflectiveOperationException {
        List<Class<?>> types = new ArrayList<>();
        List<Object> values = new ArrayList<>();
        int before = number++;
        for (RecordComponent component : kind.getRecordComponents()) {
            types.add(component.getType());
            values.add(value(component.getGenericType()));
        }
        number = before + 1; // one step for each record, so that no enum is passed over
        var constructor = kind.getDeclaredConstructor(types.toArray(Class[]::new));
        constructor.setAccessible(true);
        return constructor.newInstance(values.toArray());
    }

    private Object value(Type type) throws ReflectiveOperationException {
        number++;
        if (type instanceof ParameterizedType generic) {
            return generic.getRawType() == Optional.class ? optional(generic) : list(generic);
        }
        Class<?> plain = (Class<?>) type;
        if (plain == String.class) {
            return "t" + number;
        } else if (plain == int.class || plain == Integer.class) {
            return 1000 + number;
        } else if (plain == long.class || plain == Long.class) {
            return (1L << 40) + number;
        } else if (plain == boolean.class) {
            return number % 2 == 0;
        } else if (plain.isEnum()) {
            return constant(plain);
        } else if (plain == Payload.class) {
            return payload();
        } else if (plain == Reduction.class) {
            return new Reduction(constant(ReduceOp.class), constant(DType.class), 0.5 + number, 0.25 - number);
        } else if (plain == Plan.Op.class) {
            return Plan.Op.named("op" + number); // an operation with a number travels without its name
        }
        return record(plain);
    }

    private Object optional(ParameterizedType type) throws ReflectiveOperationException {
        return number % 2 == 0 ? Optional.empty() : Optional.of(value(type.getActualTypeArguments()[0]));
    }

    private Object list(ParameterizedType type) throws ReflectiveOperationException {
        List<Object> list = new ArrayList<>();
        for (int left = number % 3; left >= 0; left--) {
            list.add(value(type.getActualTypeArguments()[0]));
        }
        return list;
    }

    private Payload payload() {
        List<Device> devices = List.of(Device.CPU, Device.cuda(0), Device.cuda(3));
        Shape shape = number % 5 == 0 ? Shape.scalar() : Shape.of(number, 1L << 41, 3);
        return new Payload(constant(DType.class), shape, devices.get(number % devices.size()));
    }

    private <E> E constant(Class<E> type) {
        return type.getEnumConstants()[number % type.getEnumConstants().length];
    }
}
