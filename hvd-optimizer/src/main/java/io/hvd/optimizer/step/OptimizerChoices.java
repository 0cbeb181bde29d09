package io.hvd.optimizer.step;

import io.hvd.Compression;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.optimizer.BufferSync;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.RangeControl;
import io.hvd.optimizer.exchange.LocalParameters;
import io.hvd.optimizer.gradients.GradientClip;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** The choices of a {@link DistributedOptimizerBuilder}, from which an optimizer is bound to one generation of ranks after another. */
public final class OptimizerChoices implements Cloneable {
    public final Optimizer inner;
    /** Null for the current context. */
    public HvdContext context;
    /** Null for all ranks of the context. */
    public ProcessSet set;

    public Compression compression = Compression.NONE;
    public ReduceOp op = ReduceOp.AVERAGE;
    public double predivide = 1.0;
    public int passesPerStep = 1;
    public LocalReduction localReduction = LocalReduction.SUM;
    public boolean weighted;
    public long bucketBytes;
    public int numGroups;
    public List<List<String>> groups = List.of();
    /** Null for none. */
    public Predicate<Parameter> alwaysFp32;
    /** Null for an allreduce. */
    public GradientReducer reducer;

    /** Null for a number. */
    public String scopeName;

    public LocalParameters local = LocalParameters.NONE;
    public int compareEvery = -1;
    /** Null for none. */
    public RangeControl rangeControl;

    public boolean settingsMayDiffer;
    public Map<String, Tensor> buffers = Map.of();
    /** Null for never. */
    public BufferSync bufferSync;

    public GradientClip clip = GradientClip.NONE;

    /** Null for the setting. */
    public Boolean refuseNonFinite;

    public OptimizerChoices(Optimizer inner) {
        this.inner = inner;
    }

    /** The choices as they are now, whatever becomes of the builder. */
    public OptimizerChoices copy() {
        try {
            return (OptimizerChoices) clone();
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    /** The same choices for other ranks. */
    public OptimizerChoices over(ProcessSet ranks) {
        OptimizerChoices next = copy();
        next.context = null;
        next.set = ranks;
        return next;
    }
}
