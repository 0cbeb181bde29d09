package io.hvd.optimizer;

import io.hvd.Hvd;
import io.hvd.RankBody;

/** Adasum inside a rank of a job, under mpirun. */
final class AdasumInThisJob extends AdasumVectors {
    @Override
    void onAll(RankBody<Void> body) throws Exception {
        body.run(Hvd.context());
    }
}
