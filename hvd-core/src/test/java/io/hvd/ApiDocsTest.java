package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ModifiersTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePathScanner;
import io.hvd.testing.Modules;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import javax.lang.model.element.Modifier;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;

/** Everything that users of hvd may call has at least one line of Javadoc. */
class ApiDocsTest {
    private static final Set<String> API = Set.of(
            "io.hvd",
            "io.hvd.error",
            "io.hvd.tensor",
            "io.hvd.tensor.cuda",
            "io.hvd.data",
            "io.hvd.data.cuda",
            "io.hvd.data.parquet",
            "io.hvd.optimizer",
            "io.hvd.optimizer.djl",
            "io.hvd.optimizer.reduce",
            "io.hvd.optimizer.torch",
            "io.hvd.spark",
            "io.hvd.train",
            "io.hvd.transformers",
            "io.hvd.launch");

    @Test
    void everyPublicTypeAndMethodHasALine() throws IOException {
        assertThat(withoutALine(Modules.sources("src/main/java"))).isEmpty();
    }

    private static List<String> withoutALine(List<Path> sources) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<String> found = new ArrayList<>();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            JavacTask task = (JavacTask)
                    compiler.getTask(null, files, null, null, null, files.getJavaFileObjectsFromPaths(sources));
            DocTrees docs = DocTrees.instance(task);
            for (CompilationUnitTree unit : task.parse()) {
                String name = unit.getPackageName() == null
                        ? ""
                        : unit.getPackageName().toString();
                if (API.contains(name)) {
                    new Members(docs, found).scan(unit, null);
                }
            }
        }
        return found;
    }

    /** Looks at public types, and at the public methods and constructors of those. */
    private static final class Members extends TreePathScanner<Void, Void> {
        private final DocTrees docs;
        private final List<String> found;

        Members(DocTrees docs, List<String> found) {
            this.docs = docs;
            this.found = found;
        }

        @Override
        public Void visitClass(ClassTree type, Void nothing) {
            if (!isShown(type.getModifiers())) {
                return null;
            }
            requireLine(type.getSimpleName().toString());
            return super.visitClass(type, nothing);
        }

        @Override
        public Void visitMethod(MethodTree method, Void nothing) {
            boolean overrides = method.getModifiers().getAnnotations().stream()
                    .anyMatch(annotation ->
                            annotation.getAnnotationType().toString().equals("Override"));
            if (isShown(method.getModifiers()) && !overrides && !isCompactConstructor(method)) {
                requireLine(method.getName().toString());
            }
            return null;
        }

        /** The components of a record are described at its head. */
        private boolean isCompactConstructor(MethodTree method) {
            Tree type = getCurrentPath().getParentPath().getLeaf();
            return type.getKind() == Tree.Kind.RECORD && method.getName().contentEquals("<init>");
        }

        private boolean isShown(ModifiersTree modifiers) {
            Tree parent = getCurrentPath().getParentPath().getLeaf();
            boolean inInterface = parent.getKind() == Tree.Kind.INTERFACE
                    && !modifiers.getFlags().contains(Modifier.PRIVATE);
            return inInterface || modifiers.getFlags().contains(Modifier.PUBLIC);
        }

        private void requireLine(String name) {
            if (docs.getDocComment(getCurrentPath()) == null) {
                CompilationUnitTree unit = getCurrentPath().getCompilationUnit();
                long at = docs.getSourcePositions()
                        .getStartPosition(unit, getCurrentPath().getLeaf());
                found.add(Path.of(unit.getSourceFile().getName()).getFileName() + ":"
                        + unit.getLineMap().getLineNumber(at) + " " + name);
            }
        }
    }
}
