package io.hvd.doctor.hosts;

import io.hvd.doctor.facts.Facts;
import io.hvd.doctor.network.MeasuredLink;
import java.io.IOException;
import java.util.List;

/** A host under examination: this one, or one behind ssh. Used by one thread at a time. */
public interface ExaminedHost extends AutoCloseable {

    /**
     * What the host says of itself; from then on it listens for the others.
     *
     * @throws HostException if it cannot be asked
     */
    Facts open(AgentMessages.Opening opening) throws HostException, InterruptedException;

    /**
     * What the host sees of another.
     *
     * @throws HostException if it has gone
     */
    List<MeasuredLink> measure(AgentMessages.Errand errand) throws HostException, InterruptedException;

    /** Nothing of this examination is left on the host. */
    @Override
    void close() throws IOException;
}
