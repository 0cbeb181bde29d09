package io.hvd.optimizer.precision;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.ProcessSet;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/** Numbers on their way to become the greatest of all ranks, and what follows from them; of the last step, in its order. */
final class RangeQuestions {
    private final ProcessSet set;
    private final String scope;
    private final List<Question> open = new ArrayList<>();

    RangeQuestions(ProcessSet set, String scope) {
        this.set = set;
        this.scope = scope;
    }

    void ask(String what, float[] greatest, Runnable conclusion) {
        set.forOptimizers().inAnyOrder(() -> {
            Handle answer =
                    set.allreduceInPlaceAsync(scope + what, Tensor.of(greatest), AllreduceOptions.of(ReduceOp.MAX));
            open.add(new Question(answer, conclusion));
        });
    }

    void settle() {
        List<Question> asked = List.copyOf(open);
        open.clear();
        asked.forEach(Question::settle);
    }

    private record Question(Handle answer, Runnable conclusion) {
        void settle() {
            answer.synchronize();
            conclusion.run();
        }
    }
}
