package io.hvd.engine;

/** Carries out on rank 0 what changes the process sets, in the order of the plan of the set of all ranks. */
interface SetChanges {
    /** @return what the ranks are to do about it, or its refusal */
    Batch add(Request.AddProcessSet request);

    /** @return what the ranks are to do about it, or its refusal */
    Batch remove(Request.RemoveProcessSet request);
}
