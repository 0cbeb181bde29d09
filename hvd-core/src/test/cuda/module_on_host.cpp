#include "module_on_host.h"

#include <cstdlib>

static int numberAfter(const std::string& text, const std::string& word, size_t from = 0) {
    size_t at = text.find(word, from);
    return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + word.size());
}

int ptxVersion(const std::string& ptx) {
    size_t at = ptx.find("\n.version ");
    if (at == std::string::npos) {
        return 0;
    }
    return 10 * numberAfter(ptx, "\n.version ") + numberAfter(ptx, ".", at + 11);
}

int ptxTarget(const std::string& ptx) { return numberAfter(ptx, "\n.target sm_"); }

int newestPtx(int cudaVersion) {
    int major = cudaVersion / 1000;
    int minor = cudaVersion % 1000 / 10;
    switch (major) {
        case 9:
            return 60 + minor;
        case 10:
            return 63 + minor;
        case 11:
            return 70 + minor;
        case 12:
            return minor < 8 ? 80 + minor : 79 + minor;
        default:
            return major < 9 ? 0 : 90 + minor;
    }
}

static size_t bytesOf(const std::string& type) {
    for (size_t bytes : {1, 2, 4, 8}) {
        if (type.compare(2, std::string::npos, std::to_string(8 * bytes)) == 0) {
            return bytes;
        }
    }
    return 0;
}

bool ptxEntry(const std::string& ptx, const std::string& name, PtxEntry* entry) {
    size_t start = ptx.find(".entry " + name + "(");
    if (start == std::string::npos) {
        return false;
    }
    size_t bodyStart = ptx.find("\n{", start);
    std::string head = ptx.substr(start, bodyStart - start);
    std::string body = ptx.substr(bodyStart, ptx.find("\n}", bodyStart) - bodyStart);
    entry->parameterBytes.clear();
    for (size_t at = head.find(".param "); at != std::string::npos; at = head.find(".param ", at + 1)) {
        size_t typeStart = head.find_first_not_of(' ', at + 7);
        entry->parameterBytes.push_back(bytesOf(head.substr(typeStart, head.find(' ', typeStart) - typeStart)));
    }
    entry->mostThreads = numberAfter(head, ".maxntid ");
    entry->waits = body.find("bar.sync") != std::string::npos || body.find("barrier.sync") != std::string::npos;
    return true;
}
