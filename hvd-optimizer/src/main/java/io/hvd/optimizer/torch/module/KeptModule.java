package io.hvd.optimizer.torch.module;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Module;

/**
 * Keeps a module that is written in Java, with the layers and tensors in its fields, beyond the {@code PointerScope} in which the program
 * has made it. LibTorch's own reference keeps the native layers, but not the Java objects through which forward calls them.
 */
final class KeptModule {
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());

    private KeptModule() {}

    static void keep(Module module) {
        new KeptModule().visit(module);
    }

    private void visit(Object value) {
        if (value instanceof Pointer pointer && seen.add(pointer)) {
            pointer.retainReference();
            if (pointer instanceof Module module) {
                ModuleField.of(module).stream().filter(ModuleField::isOpen).forEach(field -> visit(field.value()));
            }
        } else if (value instanceof List<?> list && seen.add(list)) {
            list.forEach(this::visit);
        } else if (value instanceof Map<?, ?> map && seen.add(map)) {
            map.values().forEach(this::visit);
        } else if (value instanceof Object[] array && seen.add(array)) {
            Stream.of(array).forEach(this::visit);
        }
    }
}
