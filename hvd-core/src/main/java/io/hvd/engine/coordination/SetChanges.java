package io.hvd.engine.coordination;

import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Request;

/** Changes the process sets on rank 0, in the order of the plans of the set of all ranks. */
interface SetChanges {
    /** @return what the ranks are to do about it, or its refusal */
    Batch add(Request.AddProcessSet request);

    /** @return what the ranks are to do about it, or its refusal */
    Batch remove(Request.RemoveProcessSet request);
}
