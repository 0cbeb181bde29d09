package io.hvd.optimizer;

import io.hvd.Hvd;
import io.hvd.RankBody;

/** Groups of gradients inside a rank of a job, under mpirun. */
final class GroupsInThisJob extends GroupVectors {
    @Override
    protected void onAll(RankBody<Void> body) throws Exception {
        body.run(Hvd.context());
    }
}
