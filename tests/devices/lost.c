/* A Vulkan driver in front of the one that GRAPHIR_DRIVER names. Its device is lost at the next submission of work once
   the file that GRAPHIR_LOST names exists. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*Function)(void);
typedef Function (*Lookup)(void *, const char *);
typedef int (*Submit)(void *, unsigned, const void *, void *);
enum { DEVICE_LOST = -4 }; /* VK_ERROR_DEVICE_LOST */

static Lookup instance_lookup, device_lookup;
static Submit submit, submit2;
static int (*wait_idle)(void *);

static void *driver(void) {
    static void *library;
    if (!library) library = dlopen(getenv("GRAPHIR_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* Earlier work is waited for: what it uses is freed when the device is lost. */
static int is_lost(void *queue) {
    if (access(getenv("GRAPHIR_LOST"), F_OK)) return 0;
    wait_idle(queue);
    return 1;
}

static int lost_submit(void *queue, unsigned count, const void *infos, void *fence) {
    return is_lost(queue) ? DEVICE_LOST : submit(queue, count, infos, fence);
}

static int lost_submit2(void *queue, unsigned count, const void *infos, void *fence) {
    return is_lost(queue) ? DEVICE_LOST : submit2(queue, count, infos, fence);
}

static Function replaced(const char *name, Function function);

static Function device_function(void *device, const char *name) {
    if (!wait_idle) wait_idle = (int (*)(void *))device_lookup(device, "vkQueueWaitIdle");
    return replaced(name, device_lookup(device, name));
}

static Function replaced(const char *name, Function function) {
    if (!function) return function;
    if (!strcmp(name, "vkQueueSubmit")) {
        submit = (Submit)function;
        return (Function)lost_submit;
    }
    if (!strcmp(name, "vkQueueSubmit2") || !strcmp(name, "vkQueueSubmit2KHR")) {
        submit2 = (Submit)function;
        return (Function)lost_submit2;
    }
    if (!strcmp(name, "vkGetDeviceProcAddr")) {
        device_lookup = (Lookup)function;
        return (Function)device_function;
    }
    return function;
}

Function vk_icdGetInstanceProcAddr(void *instance, const char *name) {
    if (!instance_lookup) instance_lookup = (Lookup)dlsym(driver(), "vk_icdGetInstanceProcAddr");
    return replaced(name, instance_lookup(instance, name));
}

int vk_icdNegotiateLoaderICDInterfaceVersion(unsigned *version) {
    int (*negotiate)(unsigned *) = (int (*)(unsigned *))dlsym(driver(), "vk_icdNegotiateLoaderICDInterfaceVersion");
    return negotiate(version);
}

Function vk_icdGetPhysicalDeviceProcAddr(void *instance, const char *name) {
    Lookup lookup = (Lookup)dlsym(driver(), "vk_icdGetPhysicalDeviceProcAddr");
    return lookup ? lookup(instance, name) : 0;
}
