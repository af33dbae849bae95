// The settings at which the accountant is held against the twin.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "accountant/mechanism/composition.h"
#include "tests/twin/transform.h"

namespace dpledger::twin {

// A question about `count` sampled Gaussians of noise multiplier z.
struct Setting {
  double q, z;
  uint64_t count;
  double delta;

  accountant::Composition Steps() const {
    accountant::Composition composition;
    composition.steps.push_back({q, {z, z}, count});
    return composition;
  }
  std::vector<Kind> Kinds(bool add) const {
    return {{Ball(q), Ball(1.0) / z, static_cast<double>(count), add}};
  }
  std::string Name() const {
    std::ostringstream name;
    name.precision(17);
    name << "q " << q << " z " << z << " T " << count << " delta " << delta;
    return name.str();
  }
};

// Log-uniform settings, always the same ones.
class Settings {
 public:
  explicit Settings(uint64_t seed) : random_(seed) {}
  double LogUniform(double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>()(random_));
  }
  Setting Wide() {
    return {LogUniform(1e-6, 1), LogUniform(0.2, 50), Count(1e7), LogUniform(1e-30, 1e-2)};
  }
  Setting FewJumps() {
    return {LogUniform(1e-6, 1e-3), LogUniform(0.2, 3), Count(1e6), LogUniform(1e-30, 1e-2)};
  }

 private:
  uint64_t Count(double most) { return static_cast<uint64_t>(LogUniform(1, most)); }
  std::mt19937_64 random_;
};

// How many settings of each kind are asked: a few for every day, or as many as
// DPLEDGER_TWIN_SETTINGS says.
inline const char* const kWanted = std::getenv("DPLEDGER_TWIN_SETTINGS");
inline size_t SettingsOf(size_t usual) {
  return kWanted == nullptr ? usual : std::strtoull(kWanted, nullptr, 10);
}

}  // namespace dpledger::twin
