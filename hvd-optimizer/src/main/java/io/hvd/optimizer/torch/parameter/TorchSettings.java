package io.hvd.optimizer.torch.parameter;

import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adagrad;
import org.bytedeco.pytorch.AdagradOptions;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerOptions;
import org.bytedeco.pytorch.OptimizerParamGroup;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.RMSprop;
import org.bytedeco.pytorch.RMSpropOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;

/** Reads the kind of a LibTorch optimizer and the options of its parameter groups, as words. */
public final class TorchSettings {
    private final Optimizer optimizer;
    private final Map<String, String> settings = new TreeMap<>();
    /** Tells the groups apart, if there are several. */
    private String suffix = "";

    private TorchSettings(Optimizer optimizer) {
        this.optimizer = optimizer;
    }

    public static Map<String, String> of(Optimizer optimizer) {
        TorchSettings read = new TorchSettings(optimizer);
        try (PointerScope scope = new PointerScope()) {
            read.all();
        }
        return read.settings;
    }

    private void all() {
        settings.put("optimizer", optimizer.getClass().getSimpleName());
        OptimizerParamGroupVector groups = optimizer.param_groups();
        settings.put("parameter groups", String.valueOf(groups.size()));
        for (long i = 0; i < groups.size(); i++) {
            suffix = groups.size() == 1 ? "" : " of parameter group " + i;
            group(groups.get(i));
        }
    }

    private void group(OptimizerParamGroup group) {
        OptimizerOptions options = group.options();
        put("parameters", group.params().size());
        put("learning rate", options.get_lr());
        if (optimizer instanceof SGD) {
            sgd(new SGDOptions(options));
        } else if (optimizer instanceof Adam) {
            adam(new AdamOptions(options));
        } else if (optimizer instanceof AdamW) {
            adamW(new AdamWOptions(options));
        } else if (optimizer instanceof RMSprop) {
            rmsProp(new RMSpropOptions(options));
        } else if (optimizer instanceof Adagrad) {
            adagrad(new AdagradOptions(options));
        }
        if (optimizer instanceof OptimizerConstants more) {
            more.constants().forEach(this::put);
        }
    }

    private void sgd(SGDOptions options) {
        put("momentum", options.momentum().get());
        put("dampening", options.dampening().get());
        put("weight decay", options.weight_decay().get());
        put("nesterov", options.nesterov().get());
    }

    private void adam(AdamOptions options) {
        putBetas(options.betas());
        put("epsilon", options.eps().get());
        put("weight decay", options.weight_decay().get());
        put("amsgrad", options.amsgrad().get());
    }

    private void adamW(AdamWOptions options) {
        putBetas(options.betas());
        put("epsilon", options.eps().get());
        put("weight decay", options.weight_decay().get());
        put("amsgrad", options.amsgrad().get());
    }

    private void rmsProp(RMSpropOptions options) {
        put("alpha", options.alpha().get());
        put("epsilon", options.eps().get());
        put("weight decay", options.weight_decay().get());
        put("momentum", options.momentum().get());
        put("centered", options.centered().get());
    }

    private void adagrad(AdagradOptions options) {
        put("learning rate decay", options.lr_decay().get());
        put("weight decay", options.weight_decay().get());
        put("epsilon", options.eps().get());
    }

    /** A {@code std::tuple} keeps its last element first. */
    private void putBetas(DoublePointer tuple) {
        put("beta1", tuple.get(1));
        put("beta2", tuple.get(0));
    }

    private void put(String name, Object value) {
        settings.put(name + suffix, String.valueOf(value));
    }
}
