package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/** What a program that depends on hvd-core gets with it, as the pom.xml files say. */
class DependenciesTest {
    private record Dependency(String artifact, String scope, boolean optional) {
        boolean comesAlong() {
            return !optional && (scope.isEmpty() || scope.equals("compile") || scope.equals("runtime"));
        }
    }

    @Test
    void whoeverTakesHvdCoreGetsSlf4jAndNothingElse() throws Exception {
        assertThat(dependencies("pom.xml"))
                .extracting(Dependency::artifact)
                .contains("slf4j-api", "mpi-java", "jcuda", "javacpp");
        assertThat(comeAlongWith("pom.xml")).containsExactly("slf4j-api");
    }

    @Test
    void whoeverTakesHvdOptimizerGetsNeitherLibTorchNorDjl() throws Exception {
        assertThat(dependencies("../hvd-optimizer/pom.xml"))
                .extracting(Dependency::artifact)
                .contains("pytorch", "api");
        assertThat(comeAlongWith("../hvd-optimizer/pom.xml")).containsExactly("hvd-core", "gson");
    }

    @Test
    void whoeverTakesHvdSparkGetsNoSpark() throws Exception {
        assertThat(dependencies("../mpirun-scripts/spark/pom.xml"))
                .extracting(Dependency::artifact)
                .contains("spark-sql_2.13");
        assertThat(comeAlongWith("../mpirun-scripts/spark/pom.xml")).containsExactly("hvd-core", "hvd-optimizer");
    }

    @Test
    void parquetComesWithHvdParquetAlone() throws Exception {
        assertThat(comeAlongWith("../hvd-optimizer/parquet/pom.xml")).containsExactly("hvd-optimizer", "parquet-floor");
    }

    @Test
    void tokenizersComeWithHvdTransformersAlone() throws Exception {
        assertThat(comeAlongWith("../hvd-optimizer/transformers/pom.xml"))
                .containsExactly("hvd-optimizer", "pytorch", "tokenizers", "gson", "protobuf-java");
    }

    private static List<String> comeAlongWith(String pom) throws Exception {
        List<Dependency> managed = dependencies("../pom.xml");
        return dependencies(pom).stream()
                .map(dependency -> asManaged(dependency, managed))
                .filter(Dependency::comesAlong)
                .map(Dependency::artifact)
                .toList();
    }

    /** A scope that a module does not name is the parent's, and so is whether it is optional. */
    private static Dependency asManaged(Dependency own, List<Dependency> managed) {
        return managed.stream()
                .filter(parents -> own.scope().isEmpty() && !own.optional())
                .filter(parents -> parents.artifact().equals(own.artifact()))
                .findFirst()
                .orElse(own);
    }

    private static List<Dependency> dependencies(String pom) throws Exception {
        var nodes = DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(Path.of(pom).toFile())
                .getElementsByTagName("dependency");
        List<Dependency> found = new ArrayList<>();
        for (int i = 0; i < nodes.getLength(); i++) {
            Element node = (Element) nodes.item(i);
            found.add(new Dependency(
                    text(node, "artifactId"),
                    text(node, "scope"),
                    text(node, "optional").equals("true")));
        }
        return found;
    }

    /** Empty where there is none. */
    private static String text(Element dependency, String name) {
        for (Node child = dependency.getFirstChild(); child != null; child = child.getNextSibling()) {
            if (child.getNodeName().equals(name)) {
                return child.getTextContent().strip();
            }
        }
        return "";
    }
}
