package io.hvd.optimizer;

import io.hvd.Hvd;
import io.hvd.RankBody;

/** The loss scale inside a rank of a job, under mpirun. */
final class ScalerInThisJob extends ScalerVectors {
    @Override
    void onAll(RankBody<Void> body) throws Exception {
        body.run(Hvd.context());
    }
}
