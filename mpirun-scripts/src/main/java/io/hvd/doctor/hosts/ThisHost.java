package io.hvd.doctor.hosts;

import io.hvd.doctor.facts.Facts;
import io.hvd.doctor.facts.Facts.Interface;
import io.hvd.doctor.facts.Probe;
import io.hvd.doctor.network.Dialler;
import io.hvd.doctor.network.ExaminationSecret;
import io.hvd.doctor.network.Listener;
import io.hvd.doctor.network.MeasuredLink;
import java.io.IOException;
import java.util.List;

/** The host that this process runs on. */
public final class ThisHost implements ExaminedHost {

    private final Probe probe;
    private Listener listener;
    private Dialler dialler;

    public ThisHost(Probe probe) {
        this.probe = probe;
    }

    @Override
    public Facts open(AgentMessages.Opening opening) {
        ExaminationSecret secret = new ExaminationSecret(opening.secret());
        listener = new Listener(secret, opening.settings());
        dialler = new Dialler(opening.host(), secret);
        Facts facts = probe.facts(opening.hosts(), opening.settings(), opening.interfaces());
        if (opening.hosts().size() > 1) {
            facts.network().interfaces().stream()
                    .filter(one -> facts.network().used().contains(one.name()))
                    .forEach(this::listen);
        }
        return facts.at(listener.ports());
    }

    private void listen(Interface one) {
        for (String address : one.addresses()) {
            try {
                listener.open(one.name(), address);
            } catch (IOException e) {
                // Gone since it was seen; the others find nobody there.
            }
        }
    }

    @Override
    public List<MeasuredLink> measure(AgentMessages.Errand errand) {
        return dialler.measure(errand.host(), errand.ports(), errand.millis());
    }

    @Override
    public void close() {
        if (listener != null) {
            listener.close();
        }
    }
}
