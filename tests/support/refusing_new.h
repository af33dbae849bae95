// An operator new for one program, which can refuse: its one source that includes this defines
// RefusesAllocation.
#pragma once

#include <cstdlib>
#include <new>

// Whether the next allocation, of so many bytes, is to fail. Must not allocate.
bool RefusesAllocation(size_t size);

inline void* AllocateUnlessRefused(size_t size) {
  if (RefusesAllocation(size)) throw std::bad_alloc();
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

// (Inlined, one without the other, they look to the compiler as if they did not belong together.)
[[gnu::noinline]] void* operator new(size_t size) { return AllocateUnlessRefused(size); }
[[gnu::noinline]] void* operator new[](size_t size) { return AllocateUnlessRefused(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
