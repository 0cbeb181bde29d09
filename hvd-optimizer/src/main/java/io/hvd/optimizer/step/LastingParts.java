package io.hvd.optimizer.step;

import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.Parameter;
import java.util.List;
import java.util.function.IntConsumer;

/**
 * The parts of an optimizer that stay from one generation of ranks to the next.
 *
 * @param arithmetic of the gradients of all parameters
 * @param consolidate brings a state that is shared out to the ranks to one of them, a global rank
 * @param zerosAreSeen whether the gradients are arrays, which do not say whether backward has written into them
 */
public record LastingParts(
        List<Parameter> parameters,
        GradientArithmetic arithmetic,
        IntConsumer consolidate,
        boolean zerosAreSeen,
        StepProgress progress) {}
