package io.hvd.optimizer.torch.module;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Module;

/** A field of a module that is written in Java, whose class is the program's. */
public record ModuleField(Module owner, Field field) {
    private static final String OF_JAVACPP = "org.bytedeco.";

    public static List<ModuleField> of(Module module) {
        List<ModuleField> fields = new ArrayList<>();
        for (Class<?> type = module.getClass(); !type.getName().startsWith(OF_JAVACPP); type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !field.getType().isPrimitive()) {
                    fields.add(new ModuleField(module, field));
                }
            }
        }
        return fields;
    }

    /** Whether hvd may look at it. */
    boolean isOpen() {
        return field.trySetAccessible();
    }

    public Object value() {
        try {
            field.setAccessible(true);
            return field.get(owner);
        } catch (IllegalAccessException | InaccessibleObjectException e) {
            throw closed(e);
        }
    }

    public void set(Object value) {
        if (!field.getType().isInstance(value)) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "SyncBatchNorm.convert: " + words() + " has type "
                            + field.getType().getSimpleName() + ", which cannot hold a "
                            + value.getClass().getSimpleName());
        }
        try {
            field.set(owner, value);
        } catch (IllegalAccessException e) {
            throw closed(e);
        }
    }

    private String words() {
        return "field \"" + field.getName() + "\" of "
                + field.getDeclaringClass().getName();
    }

    private HvdException closed(Exception e) {
        return new HvdException(
                ErrorId.UNSUPPORTED,
                "SyncBatchNorm.convert cannot reach " + words() + ": open the package to hvd (\"opens\" in"
                        + " module-info.java), or make a SyncBatchNorm there yourself",
                e);
    }
}
