package io.hvd.optimizer.djl;

import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.ParameterTracker;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The fields of a DJL optimizer, which tells neither its options nor what it remembers: numbers are options, maps are its
 * memory, and the learning rate is a tracker's.
 */
final class OptimizerFields {
    /** Counts the steps, so that it is no option. */
    static final String UPDATES = "numUpdate";

    private OptimizerFields() {}

    /** All fields of an object, those of its superclasses first; without those that may not be looked at. */
    static List<Field> of(Object owner) {
        List<Field> fields = new ArrayList<>();
        for (Class<?> type = owner.getClass(); type != Object.class; type = type.getSuperclass()) {
            List<Field> own = new ArrayList<>();
            for (Field field : type.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && isOpen(field)) {
                    own.add(field);
                }
            }
            fields.addAll(0, own);
        }
        return fields;
    }

    private static boolean isOpen(Field field) {
        try {
            field.setAccessible(true);
            return true;
        } catch (InaccessibleObjectException e) {
            return false;
        }
    }

    static Object read(Field field, Object owner) {
        try {
            return field.get(owner);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("field " + field + " has been opened", e);
        }
    }

    /** The kind and the options of an optimizer or a tracker, by name. */
    static Map<String, String> settings(Object owner) {
        Map<String, String> settings = new TreeMap<>();
        settings.put("optimizer", owner.getClass().getSimpleName());
        addOptions("", owner, settings);
        return settings;
    }

    private static void addOptions(String prefix, Object owner, Map<String, String> settings) {
        for (Field field : of(owner)) {
            Object value = read(field, owner);
            String name = prefix + field.getName();
            if (value instanceof ParameterTracker tracker) {
                settings.put(name, tracker.getClass().getSimpleName());
                addOptions(name + ".", tracker, settings);
            } else if ((value instanceof Number || value instanceof Boolean) && !name.equals(UPDATES)) {
                settings.put(name, value.toString());
            } else if (value instanceof int[] numbers) {
                settings.put(name, Arrays.toString(numbers));
            }
        }
    }

    /** The tracker that decides the learning rate; empty if the optimizer has no tracker, as Adadelta. */
    static Optional<ParameterTracker> tracker(Optimizer optimizer) {
        return of(optimizer).stream()
                .map(field -> read(field, optimizer))
                .filter(ParameterTracker.class::isInstance)
                .map(ParameterTracker.class::cast)
                .findFirst();
    }

    /** One of the fields of {@link Optimizer} itself; empty if this DJL has none of that name. */
    static Optional<Field> ofOptimizer(Optimizer optimizer, String name) {
        return of(optimizer).stream()
                .filter(field -> field.getDeclaringClass() == Optimizer.class
                        && field.getName().equals(name))
                .findFirst();
    }
}
