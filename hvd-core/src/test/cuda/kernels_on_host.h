// Kernels that were compiled for the host, by name, with their parameters.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

struct HostKernel {
    std::vector<size_t> parameterBytes;
    /** One thread of a launch; the arguments as cuLaunchKernel takes them. */
    std::function<void(void**)> thread;
};

/** Never destroyed: streams may still run when the process ends. */
inline std::map<std::string, HostKernel>& hostKernels() {
    static auto* all = new std::map<std::string, HostKernel>;
    return *all;
}

template <class... Parameters, size_t... AT>
HostKernel hostKernel(void (*entry)(Parameters...), std::index_sequence<AT...>) {
    return {{sizeof(Parameters)...}, [entry](void** given) { entry(*static_cast<Parameters*>(given[AT])...); }};
}

template <class... Parameters>
int registered(const char* name, void (*entry)(Parameters...)) {
    hostKernels()[name] = hostKernel(entry, std::index_sequence_for<Parameters...>());
    return 0;
}
