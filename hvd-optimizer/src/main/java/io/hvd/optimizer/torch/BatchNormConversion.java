package io.hvd.optimizer.torch;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.module.ModuleField;
import io.hvd.optimizer.torch.norm.NormLayer;
import io.hvd.optimizer.torch.norm.SyncSequential;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNorm3dImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SequentialImpl;
import org.bytedeco.pytorch.StringSharedModuleDict;
import org.bytedeco.pytorch.StringSharedModuleDictItemVector;

/**
 * Makes the batch norms of one model synchronised ones. First it goes through the Java objects and notes what to replace
 * where; only if that is every batch norm that LibTorch knows of is anything replaced.
 */
final class BatchNormConversion {
    private final ProcessSet set;
    /** The path of each batch norm that LibTorch knows of, by its native address. */
    private final Map<Long, String> paths = new HashMap<>();

    private final Set<Long> found = new HashSet<>();
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final List<Runnable> replacements = new ArrayList<>();
    /**
     * The batch norms in fields, lists and arrays by native address. JavaCPP frees a batch norm together with the object that
     * has made it, even while it is registered, and which object that is cannot be asked.
     */
    private final Map<Long, List<Module>> met = new HashMap<>();
    /** The layers by native address, so that a layer in two fields stays one. */
    private final Map<Long, Module> made = new HashMap<>();

    BatchNormConversion(ProcessSet set) {
        this.set = set;
    }

    @SuppressWarnings("unchecked") // a SequentialImpl takes the place of a SequentialImpl
    <M extends Module> M of(M model) {
        if (isBatchNorm(model)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "SyncBatchNorm.convert takes the model that holds the layers, found a "
                            + model.getClass().getSimpleName()
                            + ". A single layer is made as new SyncBatchNorm2d(hvd, name, options)");
        }
        List<Module> result = new ArrayList<>(List.of(model));
        nameAll(model);
        visit(model, converted -> result.set(0, (Module) converted));
        requireAllFound();
        replacements.forEach(Runnable::run);
        return (M) result.get(0);
    }

    private void nameAll(Module model) {
        StringSharedModuleDict modules = model.named_modules();
        StringSharedModuleDictItemVector items = modules.items();
        for (long i = 0; i < items.size(); i++) {
            Module batchNorm = batchNorm(items.get(i).access());
            if (batchNorm != null) {
                paths.putIfAbsent(batchNorm.address(), items.get(i).key().getString());
            }
        }
    }

    private void requireAllFound() {
        paths.forEach((address, path) -> {
            if (!found.contains(address)) {
                throw new HvdException(
                        ErrorId.UNSUPPORTED,
                        "SyncBatchNorm.convert: the model has a batch norm \"" + path + "\" (found " + found.size()
                                + " of " + paths.size() + ") that is in no field, list or array of its Java classes and"
                                + " in no SequentialImpl that is, so its forward cannot be replaced. Nothing has been"
                                + " changed. Keep it in a field, or make a SyncBatchNorm there");
            }
        });
    }

    /** @param place takes what is to stand there instead */
    private void visit(Object value, Consumer<Object> place) {
        if (value instanceof NormLayer) {
            found.add(((Module) value).address());
        } else if (value instanceof SyncSequential) {
            seen.add(value);
        } else if (value instanceof SequentialImpl sequence) {
            if (hasBatchNorm(sequence)) {
                replacements.add(() -> place.accept(synchronised(sequence)));
            }
        } else if (value instanceof Module module) {
            if (isBatchNorm(module)) {
                found.add(module.address());
                met.computeIfAbsent(module.address(), address -> new ArrayList<>())
                        .add(module);
                replacements.add(() -> place.accept(synchronised(module)));
            } else if (seen.add(module)) {
                visitFields(module);
            }
        } else if (value instanceof List<?> list && seen.add(list)) {
            visitList(list, place);
        } else if (value instanceof Object[] array && seen.add(array)) {
            for (int i = 0; i < array.length; i++) {
                int index = i;
                visit(array[i], converted -> Array.set(array, index, converted));
            }
        }
    }

    /** The list itself may be immutable, so a new one takes its place. */
    private void visitList(List<?> list, Consumer<Object> place) {
        List<Object> copy = new ArrayList<>(list);
        int before = replacements.size();
        for (int i = 0; i < copy.size(); i++) {
            int index = i;
            visit(copy.get(i), converted -> {
                copy.set(index, converted);
                place.accept(copy);
            });
        }
        if (replacements.size() == before) {
            copy.clear();
        }
    }

    private void visitFields(Module module) {
        for (ModuleField field : ModuleField.of(module)) {
            visit(field.value(), field::set);
        }
    }

    /** Notes all batch norms of a sequence. JavaCPP's binding puts no sequence into another one. */
    private boolean hasBatchNorm(SequentialImpl sequence) {
        boolean any = false;
        for (long i = 0; i < sequence.size(); i++) {
            Module batchNorm = batchNorm(sequence.ptr(i));
            if (batchNorm != null) {
                found.add(batchNorm.address());
                any = true;
            }
        }
        return any;
    }

    private SyncSequential synchronised(SequentialImpl sequence) {
        Module known = made.get(sequence.address());
        if (known == null) {
            known = new SyncSequential(sequence, steps(sequence)).retainReference();
            made.put(sequence.address(), known);
        }
        return (SyncSequential) known;
    }

    private Map<Long, NormLayer> steps(SequentialImpl sequence) {
        Map<Long, NormLayer> steps = new HashMap<>();
        for (long i = 0; i < sequence.size(); i++) {
            Module batchNorm = batchNorm(sequence.ptr(i));
            if (batchNorm != null) {
                steps.put(i, (NormLayer) synchronised(batchNorm));
            }
        }
        return steps;
    }

    private Module synchronised(Module batchNorm) {
        Module known = made.get(batchNorm.address());
        if (known == null) {
            String path = paths.getOrDefault(batchNorm.address(), "unregistered");
            known = synchronised(batchNorm, path).retainReference(); // the model outlives the caller's scope
            made.put(batchNorm.address(), known);
        }
        return known;
    }

    private Module synchronised(Module batchNorm, String path) {
        List<Module> converted = met.getOrDefault(batchNorm.address(), List.of(batchNorm));
        converted.forEach(Module::retainReference);
        if (batchNorm instanceof BatchNorm1dImpl) {
            return new SyncBatchNorm1d(set, path, converted);
        } else if (batchNorm instanceof BatchNorm2dImpl) {
            return new SyncBatchNorm2d(set, path, converted);
        }
        return new SyncBatchNorm3d(set, path, converted);
    }

    private static boolean isBatchNorm(Module module) {
        return module instanceof BatchNorm1dImpl
                || module instanceof BatchNorm2dImpl
                || module instanceof BatchNorm3dImpl;
    }

    /** The module as what it is, if that is a batch norm; null otherwise. */
    private static Module batchNorm(Module module) {
        Module one = module.asBatchNorm1d();
        Module two = one != null ? one : module.asBatchNorm2d();
        return two != null ? two : module.asBatchNorm3d();
    }
}
