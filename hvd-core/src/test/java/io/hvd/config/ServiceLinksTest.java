package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ServiceLinksTest {
    private static final HvdConfig NOTHING_SET = HvdConfig.from(Map.of());

    /** What a pod gets for a service with a port 6006 called http-metrics, and one 53 of UDP. */
    private static Map<String, String> kubernetes(String service) {
        Map<String, String> links = new HashMap<>();
        links.put("_SERVICE_HOST", "10.96.0.7");
        links.put("_SERVICE_PORT", "6006");
        links.put("_SERVICE_PORT_HTTP_METRICS", "6006");
        links.put("_PORT", "tcp://10.96.0.7:6006");
        for (String protocol : new String[] {"6006_TCP", "53_UDP", "9_SCTP"}) {
            String[] parts = protocol.split("_");
            String word = parts[1].toLowerCase(java.util.Locale.ROOT);
            links.put("_PORT_" + protocol, word + "://[fd00::7]:" + parts[0]);
            links.put("_PORT_" + protocol + "_PROTO", word);
            links.put("_PORT_" + protocol + "_PORT", parts[0]);
            links.put("_PORT_" + protocol + "_ADDR", "fd00::7");
        }
        return named(service, links);
    }

    private static Map<String, String> docker(String service) {
        return named(
                service,
                Map.of(
                        "_NAME", "/trainer/tensorboard",
                        "_PORT", "udp://172.17.0.5:53",
                        "_PORT_53_UDP_PORT_START", "53",
                        "_ENV_LANG", "C.UTF-8",
                        "_ENV_MULTI_LINE", "a\nb"));
    }

    private static Map<String, String> named(String service, Map<String, String> links) {
        Map<String, String> named = new HashMap<>();
        links.forEach((end, value) -> named.put(service + end, value));
        return named;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HVD",
                "HOROVOD",
                "HVD_TENSORBOARD",
                "HOROVOD_MNIST_LAUNCHER",
                "HVD_BACKEND",
                "HVD_PORT",
                "HVD_SERVICE_PORT",
                "HOROVOD_GLOO_RENDEZVOUS",
                "HVD_GPUS_PER_RANK",
                "HVD_ENV_NAME",
                "HVD_7",
            })
    void linksToAServiceAreNoSettingsWhateverItIsCalled(String service) {
        assertThat(HvdConfig.from(kubernetes(service))).isEqualTo(NOTHING_SET);
        assertThat(HvdConfig.from(docker(service))).isEqualTo(NOTHING_SET);
    }

    @Test
    void eachLinkCountsByItself() {
        kubernetes("HVD_X")
                .forEach((name, value) ->
                        assertThat(HvdConfig.from(Map.of(name, value))).as(name).isEqualTo(NOTHING_SET));
    }

    @ParameterizedTest
    @CsvSource({
        "HVD_PORT, 6006",
        "HVD_STATUS_PORT, 8080",
        "HOROVOD_STATUS_SERVICE_PORTS, 8080",
        "HVD_X_SERVICE_PORT, http",
        "HVD_X_PORT_6006_TCP, 6006",
        "HVD_X_PORT_6006_TCP_PROTO, yes",
        "HVD_STALL_CHEK, 1",
        "HVD_JOB_NAME, mnist",
        "HVD_ENV_LANG, C",
        "HVD_SERVICE, tcp://10.0.0.1:1",
        "HVD_LOCAL_ADDR, 10.0.0.1",
    })
    void aNameThatOnlyResemblesALinkIsRefusedAsBefore(String name, String value) {
        assertThatThrownBy(() -> HvdConfig.from(Map.of(name, value)))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining(name + " is set, but there is no such setting");
    }

    @ParameterizedTest
    @EnumSource(Setting.class)
    void noSettingCouldBeTakenForALink(Setting setting) {
        for (String value : new String[] {"1", "10.0.0.1", "tcp", "tcp://10.0.0.1:1", "/a/b"}) {
            assertThat(ServiceLinks.isOne(setting.variable(), value, Map.of(setting.variable(), value)))
                    .as(value)
                    .isFalse();
        }
    }

    @Test
    void settingsBesideLinksAreRead() {
        Map<String, String> environment = new HashMap<>(kubernetes("HVD_BACKEND"));
        environment.put("HVD_BACKEND", "local");
        assertThat(HvdConfig.from(environment).backend()).isEqualTo(HvdConfig.BackendChoice.LOCAL);
        environment.put("HVD_BACKEND", "tcp://10.96.0.7:6006");
        assertThatThrownBy(() -> HvdConfig.from(environment)).hasMessageContaining("HVD_BACKEND is");
    }
}
