package io.hvd.testing;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.List;
import java.util.Map;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A key with a certificate of its own, and a process that has them trusts that certificate alone. */
public record TlsKeys(Path store) {
    private static final String PASSWORD = "changeit";

    public static TlsKeys make(Path folder, String name) {
        Path store = folder.resolve(name + ".p12");
        Job made = Job.run(
                List.of(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-alias",
                        name,
                        "-keyalg",
                        "EC",
                        "-dname",
                        "CN=" + name,
                        "-validity",
                        "3650",
                        "-storetype",
                        "PKCS12",
                        "-storepass",
                        PASSWORD,
                        "-keystore",
                        store.toString()),
                Map.of());
        if (made.exitCode() != 0) {
            throw new AssertionError(made.output());
        }
        return new TlsKeys(store);
    }

    public SSLContext context() throws IOException, GeneralSecurityException {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        var own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        own.init(keys, PASSWORD.toCharArray());
        var trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusted.init(keys);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own.getKeyManagers(), trusted.getTrustManagers(), null);
        return context;
    }

    /**
     * What makes them a process's: the value of {@code JDK_JAVA_OPTIONS}.
     *
     * @param more options
     */
    public String options(String... more) throws IOException {
        StringBuilder options = new StringBuilder(String.join("\n", more));
        for (String kind : List.of("key", "trust")) {
            options.append("\n-Djavax.net.ssl.").append(kind).append("Store=").append(store);
            options.append("\n-Djavax.net.ssl.")
                    .append(kind)
                    .append("StorePassword=")
                    .append(PASSWORD);
        }
        return "@" + Files.writeString(store.resolveSibling(store.getFileName() + ".options"), options);
    }
}
