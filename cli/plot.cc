#include "cli/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"

namespace dpledger::cli {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kGreatestDecades = 40;

struct Range {
  double from = kInfinity, to = -kInfinity;
  void Add(double value) {
    if (!std::isfinite(value)) return;
    from = std::fmin(from, value);
    to = std::fmax(to, value);
  }
};

// 1, 2 or 5 times a power of ten, so that about `count` steps cover `length`.
double StepFor(double length, int count) {
  const double rough = length / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power * 1.0001) return factor * power;
  }
  return 10 * power;
}

}  // namespace

Axis::Axis(double from, double to, bool log) : from_(from), to_(to), log_(log) {
  if (log_) {
    from_ = std::floor(from_);
    to_ = std::ceil(to_);
  }
  if (!(to_ > from_)) {
    from_ -= log_ ? 1 : 0.5 * std::fmax(1, std::fabs(from_));
    to_ += log_ ? 1 : 0.5 * std::fmax(1, std::fabs(to_));
  }
}

Axis Axis::OfX(const Plot& plot) {
  Range range;
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      range.Add(point.x.lower());
      range.Add(point.x.upper());
    }
  }
  if (range.from > range.to) return Axis(0, 1, false);
  return Axis(range.from, range.to, false);
}

Axis Axis::OfY(const Plot& plot) {
  Range range;
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      if (!plot.log_y) {
        range.Add(point.y.lower());
        range.Add(point.y.upper());
      } else {
        // Lower bounds of 0, and far below what is to be seen, do not stretch the axis.
        if (point.y.upper() > 0) range.Add(std::log10(point.y.upper()));
      }
    }
  }
  if (range.from > range.to) return Axis(plot.log_y ? -1 : 0, plot.log_y ? 0 : 1, plot.log_y);
  if (plot.log_y) range.from = std::fmax(range.from, range.to - kGreatestDecades);
  return Axis(range.from, range.to, plot.log_y);
}

std::string Shortened(const std::string& text, int most) {
  // Bytes that continue a letter of UTF-8 are no letters.
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  if (std::count_if(text.begin(), text.end(), begins) <= most) return text;
  int left = most - 3;
  const auto end =
      std::find_if(text.begin(), text.end(), [&](char c) { return begins(c) && left-- == 0; });
  return std::string(text.begin(), end) + "...";
}

double Axis::Place(double value) const {
  const double at = !log_ ? value : value > 0 ? std::log10(value) : -kInfinity;
  return std::clamp((at - from_) / (to_ - from_), 0.0, 1.0);
}

std::vector<Axis::Tick> Axis::Ticks(int count) const {
  std::vector<Tick> ticks;
  double step = StepFor(to_ - from_, count);
  if (log_) step = std::fmax(1, std::ceil(step));
  for (double at = std::ceil(from_ / step - 1e-9) * step; at <= to_ + 1e-9 * step; at += step) {
    const double shown = std::fabs(at) < 1e-9 * step ? 0 : at;
    if (log_) {
      ticks.push_back(
          {std::pow(10, shown), shown == 0 ? "1" : absl::StrFormat("1e%d", std::lround(shown))});
    } else {
      ticks.push_back({shown, absl::StrFormat("%.6g", shown)});
    }
  }
  return ticks;
}

}  // namespace dpledger::cli
