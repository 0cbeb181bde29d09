package io.hvd.transformers;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** Parameters with dotted names in a tree of LibTorch modules, so that {@code named_parameters()} gives the names of the model's file. */
final class ParameterTree {
    private final Map<String, Module> modules = new HashMap<>();
    private final Map<String, Tensor> parameters = new TreeMap<>();

    ParameterTree() {
        modules.put("", kept(new Module()));
    }

    /** Whatever PointerScope is open. LibTorch holds the native module, but forgets its Java object. */
    private static Module kept(Module module) {
        return module.retainReference();
    }

    /** Adds a parameter that is trained until it is frozen; the modules on the way to it are made. */
    Tensor add(String name, Tensor value) {
        int dot = name.lastIndexOf('.');
        Tensor mine = value.retainReference();
        moduleAt(dot < 0 ? "" : name.substring(0, dot)).register_parameter(name.substring(dot + 1), mine, true);
        parameters.put(name, mine);
        return mine;
    }

    private Module moduleAt(String path) {
        Module known = modules.get(path);
        if (known != null) {
            return known;
        }
        int dot = path.lastIndexOf('.');
        Module made = kept(new Module());
        moduleAt(dot < 0 ? "" : path.substring(0, dot)).register_module(path.substring(dot + 1), made);
        modules.put(path, made);
        return made;
    }

    /** @param path with dots; empty for the whole tree */
    Module module(String path) {
        Module found = modules.get(path);
        if (found == null) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "there is no module \"" + path + "\" in this transformer, expected one such as \""
                            + parameters.keySet().iterator().next().replaceFirst("\\.[^.]*$", "") + "\"");
        }
        return found;
    }

    /** By name, sorted; not copied. */
    Map<String, Tensor> parameters() {
        return parameters;
    }

    Tensor parameter(String name) {
        return parameters.get(name);
    }
}
