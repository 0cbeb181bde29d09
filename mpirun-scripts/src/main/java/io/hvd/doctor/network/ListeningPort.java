package io.hvd.doctor.network;

/** A port at which a host listens for the others of one examination. */
public record ListeningPort(String network, String address, int number) {}
